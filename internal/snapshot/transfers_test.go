package snapshot

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestSendingLengthensTheTail(t *testing.T) {
	clock := &handTime{time.Unix(1000, 0)}
	s := transfers{clock: clock}
	expect := func(when string, want int64) {
		t.Helper()
		if got := s.tail(10); got != want {
			t.Errorf("%s, the tail has %d bytes, want %d", when, got, want)
		}
	}
	expect("at first", 10)
	small, big := s.begin(50), s.begin(1000)
	expect("while two are on their way", 1000)
	big()
	expect("when one has come", 1000)
	clock.now = clock.now.Add(time.Hour)
	expect("while the other is slow", 1000)
	small()
	clock.now = clock.now.Add(transferDone - 1)
	expect("right after the other has come", 1000)
	clock.now = clock.now.Add(1)
	expect("later", 10)
	defer s.begin(50)()
	expect("while a small one is on its way", 10*transferTails)
}

func TestThrottledKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		began := time.Now()
		w := &throttled{to: &got, rate: 1 << 20, began: began}
		for range 64 {
			if n, err := w.Write(make([]byte, 128<<10)); n != 128<<10 || err != nil {
				t.Fatal(n, err)
			}
		}
		if took := time.Since(began); took < 7990*time.Millisecond || took > 8*time.Second {
			t.Errorf("8 MiB took %v at 1 MiB a second", took)
		}
		if got.Len() != 8<<20 {
			t.Errorf("%d bytes came through", got.Len())
		}
	})
}

// A stream that is not wanted any more ends at once, however slow it is.
func TestSlowStreamEndsAtOnce(t *testing.T) {
	s, _ := storeWith(t, t.TempDir(), 10)
	if err := takeLocal(t, s, 9); err != nil {
		t.Fatal(err)
	}
	s.rate = 1
	_, stream, err := s.Open(s.newest.meta(0).ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Read(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to close a stream of a byte a second", took)
	}
}
