package raftstore

import (
	"strings"
	"testing"
)

// A leader that asks a node to remove what that node has applied has lost
// acknowledged writes. The node must keep them, and stop.
func TestCutOfAppliedEntriesStopsTheNode(t *testing.T) {
	for name, k := range map[string]struct {
		known known
		from  uint64 // the cut
		stops bool
	}{
		"behind everything":         {known{applied: position{6, 1}, commit: 7}, 8, false},
		"committed":                 {known{applied: position{4, 1}, commit: 7}, 7, true},
		"applied before a restart":  {known{applied: position{8, 1}}, 8, true},
		"far below what is applied": {known{applied: position{8, 1}}, 3, true},
		// A snapshot brought a state that is newer than the entry that it names. The
		// entries that the log has from there on are not those of the state.
		"applied from a snapshot":    {known{applied: position{8, 2}}, 7, false},
		"behind the log's end":       {known{applied: position{20, 2}}, 7, false},
		"whole log, for a leader":    {known{applied: position{9, 1}}, 1, true},
		"whole log, nothing applied": {known{}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bench) {
				b.store(entries(1, 10, 1))
				b.known = func() known { return k.known }
				err, stopped := try(func() error { return b.DeleteRange(k.from, 10) })
				if stopped != k.stops {
					t.Fatalf("the node stops: %v, want %v (%v)", stopped, k.stops, err)
				}
				if !k.stops {
					b.holds(entries(1, k.from-1, 1))
					return
				}
				for _, part := range []string{"Nothing was removed", "add it again"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error does not say %q: %v", part, err)
					}
				}
				b.holds(entries(1, 10, 1))
			})
		})
	}
}
