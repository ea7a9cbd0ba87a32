package fsm

import (
	"bytes"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
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

// Nodes remove what is forgotten when they come to it: they have the same hash before and after.
func TestHashWithoutWhatIsForgotten(t *testing.T) {
	const t0 = 1_000_000
	hashes := make(map[bool]string)
	for _, tidied := range []bool{false, true} {
		r := newRig(t)
		r.apply(t0, appendOf(sessionA, "x", "1"), &turn.Delete{Keys: []turn.Key{sessionA}})
		r.flush()
		r.apply(t0 + turn.TombstoneTime)
		if err := r.m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tidied {
			r.flush()
			r.expectEmpty(layout.BucketTombstones)
		}
		r.apply(0, &codec.Checksum{})
		if err := r.m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, hashes[tidied] = r.m.StateHash()
		if err := r.db().View(func(tx *bbolt.Tx) error {
			if k, _ := tx.Bucket(layout.BucketTombstones).Cursor().First(); (k == nil) != tidied {
				t.Errorf("tidied: %v, a tombstone is there: %v", tidied, k != nil)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if hashes[false] != hashes[true] {
		t.Errorf("hash %s, and %s once what is forgotten is removed", hashes[false], hashes[true])
	}
}
