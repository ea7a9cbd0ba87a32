package raftlog

import (
	"strings"
	"testing"
)

// A leader that asks a node to remove what that node has applied has lost
// acknowledged writes. The node must keep them, and stop.
func TestCutOfAppliedEntriesStopsTheNode(t *testing.T) {
	for name, k := range map[string]struct {
		known Known
		from  uint64 // the cut
		stops bool
	}{
		"behind everything":         {Known{Applied: Position{6, 1}, Commit: 7}, 8, false},
		"committed":                 {Known{Applied: Position{4, 1}, Commit: 7}, 7, true},
		"applied before a restart":  {Known{Applied: Position{8, 1}}, 8, true},
		"far below what is applied": {Known{Applied: Position{8, 1}}, 3, true},
		// A snapshot brought a state that is newer than the entry that it names. The
		// entries that the log has from there on are not those of the state.
		"applied from a snapshot":    {Known{Applied: Position{8, 2}}, 7, false},
		"behind the log's end":       {Known{Applied: Position{20, 2}}, 7, false},
		"whole log, for a leader":    {Known{Applied: Position{9, 1}}, 1, true},
		"whole log, nothing applied": {Known{}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bench) {
				b.store(entries(1, 10, 1))
				b.cfg.Known = func() Known { return k.known }
				err, stopped := try(func() error { return b.DeleteRange(k.from, 10) })
				if stopped != k.stops {
					t.Fatalf("the node stops: %v, want %v (%v)", stopped, k.stops, err)
				}
				if !k.stops {
					b.holds(entries(1, k.from-1, 1))
					return
				}
				for _, part := range []string{
					"committed entries are not removed: the leader has another entry",
					"this node knows that the entries up to", "Nothing was removed", "add it again",
				} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error does not say %q: %v", part, err)
					}
				}
				b.holds(entries(1, 10, 1))
			})
		})
	}
}
