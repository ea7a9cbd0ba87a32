package raftlog

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// What stands in for an entry that was dropped tells its term, and is not taken for an entry: a
// leader may come upon it in the middle of a message.
func TestStandInIsNoEntry(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.store(entries(1, 20, 1))
		if err := b.FitToSnapshot(10, 1); err != nil {
			t.Fatal(err)
		}
		for _, dropped := range []bool{false, true} {
			if dropped {
				b.remove(1, 12)
			}
			var got raft.Log
			if err := b.GetLog(10, &got); err != nil || got.Term != 1 {
				t.Errorf("dropped %v: the entry at the snapshot: %+v, %v", dropped, got, err)
			}
			if (got.Type == StandIn) != dropped {
				t.Errorf("dropped %v: type %d is returned", dropped, got.Type)
			}
			if err := b.Entry(10, &got); errors.Is(err, raft.ErrLogNotFound) != dropped {
				t.Errorf("dropped %v: as an entry: %v", dropped, err)
			}
		}
	})
}
