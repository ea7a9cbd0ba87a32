package raftstore

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSendingLengthensTheTail(t *testing.T) {
	clock := &handClock{time.Unix(1000, 0)}
	s := sending{clock: clock}
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
	clock.now = clock.now.Add(sentFor - 1)
	expect("right after the other has come", 1000)
	clock.now = clock.now.Add(1)
	expect("later", 10)
	defer s.begin(50)()
	expect("while a small one is on its way", 10*sentTails)
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
	s.rate, s.sending.clock = 1, systemClock{}
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

// While a node is sent the state, the log behind it stays, however much is written: a
// receiver that lacked it would have to be sent the state again, and again.
func TestLogStaysWhileASnapshotIsSent(t *testing.T) {
	const tail = 1 << 20
	c := newCluster(t, 1, calm, func(cfg *Config) {
		cfg.Storage.TailBytes, cfg.Storage.CompactBytes = tail, 1<<40
		cfg.Storage.SegmentBytes = tail / 4
	})
	n := c.leader()
	clock := &handClock{time.Unix(1000, 0)}
	n.snaps.sending.clock = clock
	write := func() {
		t.Helper()
		for i := range 40 {
			put(t, n, fmt.Sprint("s", i), strings.Repeat("x", tail/16))
		}
		if err := n.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	meta, stream, err := n.snaps.Open(n.snaps.newest.meta(0).ID)
	if err != nil {
		t.Fatal(err)
	}
	write()
	if first := n.Stats().FirstIndex; first > meta.Index+1 {
		t.Errorf("while the state as of entry %d is sent, the log begins at %d", meta.Index, first)
	}
	if sent, err := io.Copy(io.Discard, stream); err != nil || sent != meta.Size {
		t.Errorf("sent %d bytes of %d: %v", sent, meta.Size, err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	write()
	if first := n.Stats().FirstIndex; first > meta.Index+1 {
		t.Errorf("right after the state as of entry %d was sent, the log begins at %d", meta.Index, first)
	}
	clock.now = clock.now.Add(sentFor)
	write()
	if first := n.Stats().FirstIndex; first <= meta.Index+1 {
		t.Errorf("long after the state as of entry %d was sent, the log still begins at %d", meta.Index, first)
	}
}
