package fsm

import (
	"bytes"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
)

// An entry that wants a hash waits for the flush before it, but not on a machine that is
// halted: its repair waits for the entry. The hash is not taken then, neither of
// this state nor of the one that takes its place.
func TestHashIsNotAwaitedOnAHaltedMachine(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		r, _ := repairable(t)
		r.apply(1, appendOf(sessionA, "id", "hello"))
		peer := r.fork(t)
		r.m.mu.Lock()
		r.m.freeze() // as after a flush that found the disk full
		r.m.mu.Unlock()
		wanted, err := codec.EncodeOp(&codec.Checksum{})
		if err != nil {
			t.Fatal(err)
		}
		applied := make(chan struct{})
		go func() {
			defer close(applied)
			r.m.Apply(r.index+1, 1, codec.AppendEntry(nil, 2, []codec.Command{{Op: wanted}}))
		}()
		<-r.m.kick // it asks for a flush, and gives mu away to wait
		r.m.Halt(nil)
		if replaced {
			for range 3 {
				peer.apply(9, appendOf(sessionA, "", "more"))
			}
			if err := r.m.Restore(bytes.NewReader(peer.dump())); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-applied:
		case <-time.After(30 * time.Second):
			t.Fatalf("replaced: %v: the entry still waits", replaced)
		}
		if !r.m.Resume() {
			t.Fatal("it does not go on")
		}
		if err := r.m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if index, sum := r.m.StateHash(); sum != "" {
			t.Errorf("replaced: %v: hash %s of entry %d", replaced, sum, index)
		}
	}
}
