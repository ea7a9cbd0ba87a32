package messageids

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// Replaced is a replace that took place.
type Replaced struct {
	First, Last uint64 // seqs of what it brought
	Revision    uint64
}

// Replaced finds the replace that brought what has a digest, of those after a revision: the earliest one that is
// remembered, in the session or in what was deleted under its key.
func (l *Lookup) Replaced(digest [layout.DigestSize]byte, after uint64) (found Replaced, ok bool, err error) {
	x, h := l.ids, l.h
	if h == nil || h.TombstonesUntil > x.keys.Meta.Clock {
		if err := l.lookAtDeleted(); err != nil {
			return found, false, err
		}
		for i := range slices.Backward(l.tombstones) {
			g := &l.tombstones[i]
			if found, ok, err = x.replacedIn(x.Windows.Get(g.Inc), g.Remembered(), digest, after); ok || err != nil {
				return found, ok, err
			}
		}
	}
	if h == nil {
		return found, false, nil
	}
	return x.replacedIn(x.Windows.Of(h.Inc, h.Window), h.Remembered(), digest, after)
}

// replacedIn is Replaced for one incarnation, whose window is w if it is kept.
func (x *IDs) replacedIn(
	w *idwindow.Window, of layout.Remembered, digest [layout.DigestSize]byte, after uint64,
) (found Replaced, ok bool, err error) {
	if !of.Any() {
		return found, false, nil
	}
	if w == nil {
		if w, err = x.rebuildWindow(of); err != nil {
			return found, false, err
		}
	}
	c, ok := w.FindCall(digest, after)
	if !ok {
		return found, false, nil
	}
	seq := of.Moves.Seq(c.Ordinal)
	return Replaced{seq - c.Before, seq + c.After, c.Revision}, true, nil
}
