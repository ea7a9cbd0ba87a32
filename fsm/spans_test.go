package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// What popping from an end of a list looks at does not grow with what was popped before.
func TestPopsFromEitherEndPassOverRemoved(t *testing.T) {
	for name, end := range map[string]turn.Side{"tail": turn.Tail, "head": turn.Head, "newest": turn.Newest} {
		for _, flushed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t)
				const n = 600
				for i := range n {
					side := end
					if side == turn.Newest {
						side = []turn.Side{turn.Tail, turn.Head}[i%2]
					}
					r.apply(1, &turn.Append{Key: sessionA, Side: side,
						Messages: []turn.NewMessage{{Data: []byte("x")}}})
				}
				if flushed {
					r.flush()
				}
				for range n - 50 {
					r.apply(1, &turn.Pop{Key: sessionA, From: end, Count: 1})
				}
				h, _ := r.m.keys.Tables.Head(layout.JoinKey(sessionA))
				v := r.m.keys.Tables.View(h, nil)
				if spans := v.RemovedRanges(); spans > 2 {
					t.Errorf("%d ranges of removed messages, want one for each side at most", spans)
				}
				for _, side := range []turn.Side{end, memtable.AnySide} {
					if seq := v.Below(side, h.Last); seq > 50 {
						t.Errorf("a walk down begins at %d, want 50 at most", seq)
					}
				}
			})
		}
	}
}
