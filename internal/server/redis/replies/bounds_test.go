package replies

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/resp"
)

// A client that sends on without reading is owed so many replies, and so many bytes of them: then
// its requests wait.
func TestRepliesOwedAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name               string
		maxCount, maxBytes int
		each, owed         int
	}{{"by their number", 3, 1 << 20, 1, 3}, {"by their bytes", 100, 50, 20, 2},
		{"one is never too much", 100, 50, 60, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(resp.NewWriter(io.Discard), tt.maxCount, tt.maxBytes, new(Budget))
				ready, put := make(chan struct{}), 0
				answer := func(*resp.Writer) { <-ready }
				q.Put(Owed{Ready: ready, Write: answer})
				synctest.Wait() // it is being waited for
				go func() {
					for range 10 {
						q.Put(Owed{Ready: ready, Bytes: tt.each, Write: answer})
						put++
					}
				}()
				synctest.Wait()
				if put != tt.owed {
					t.Errorf("%d replies are owed, want %d", put, tt.owed)
				}
				close(ready)
				synctest.Wait()
				if put != 10 {
					t.Errorf("%d requests went on when replies were read, want 10", put)
				}
				q.Close()
			})
		})
	}
}

// A message that a client has yet to read may wait while there is memory for it: for one client,
// and for all together. Beyond that, a little may wait for each.
func TestMessagesThatWaitAreBounded(t *testing.T) {
	b := &Budget{Each: 8 * Small, All: 10 * Small}
	message := func(size int) Push { return Push{Bytes: size, Share: int64(size)} }
	first, second, third := pushes{budget: b}, pushes{budget: b}, pushes{budget: b}
	for i := range 4 {
		if !first.add(message(2 * Small)) {
			t.Fatalf("message %d of a client is refused, although there is memory", i)
		}
	}
	for range 2 {
		if !second.add(message(Small / 2)) {
			t.Error("a little is refused for a second client")
		}
	}
	if !third.add(message(2 * Small)) {
		t.Error("the only message for a client is refused")
	}
	if third.add(message(Small)) {
		t.Error("more than a little is taken for a client when all memory is in use")
	}
	if used := b.Used.Load(); used != 9*Small {
		t.Errorf("%d bytes are counted when a client was given up, want %d", used, 9*Small)
	}
	if first.add(message(Small)) {
		t.Error("a client has more than one may have")
	}
	if used := b.Used.Load(); used != Small {
		t.Errorf("%d bytes are counted when two clients were given up, want %d", used, Small)
	}
}
