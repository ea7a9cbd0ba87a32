package messageids

import (
	"github.com/turnlog/turnlog/fsm/internal/idwindow"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// Earlier is where one call stored messages.
type Earlier struct {
	First, Last uint64 // seqs
	Revision    uint64
	Found       bool
	// Partly: the last message is known from such a call, and of those before it some are no longer remembered.
	Partly bool
}

// Earlier looks for messages as one call brought them, with these ids and payloads one behind the other: among what a
// session remembers, nil if there is none, and then among what was deleted under its key. Of several such calls, it is
// the last one. The call is a replace that brought nothing else, or an append, perhaps of more; where it is not known
// which, it may be either. Each message has an id, and there is one at least.
//
// Lookup finds one message by its id, the last that had it. An id is given again by turn.Replace alone.
func (x *IDs) Earlier(
	key string, h *memtable.Head, ms []turn.NewMessage, replace bool,
) (found Earlier, err error) {
	if h != nil {
		found, err = x.earlierIn(x.Windows.Of(h.Inc, h.Window), h.Remembered(), ms, replace)
		if found.Found || found.Partly || err != nil || h.TombstonesUntil <= x.keys.Meta.Clock {
			return found, err
		}
	}
	tombstones, err := x.Tombstones(key)
	for i := range tombstones {
		g := &tombstones[i]
		found, err = x.earlierIn(x.Windows.Get(g.Inc), g.Remembered(), ms, replace)
		if found.Found || found.Partly || err != nil {
			return found, err
		}
	}
	return Earlier{}, err
}

// earlierIn is Earlier for one incarnation, whose window is w if it is kept.
func (x *IDs) earlierIn(
	w *idwindow.Window, of layout.Remembered, ms []turn.NewMessage, replace bool,
) (found Earlier, err error) {
	if !of.Any() {
		return found, nil
	}
	if w == nil {
		if w, err = x.rebuildWindow(of); err != nil {
			return found, err
		}
	}
	v, err := x.wholeIDs(of.Inc)
	if err != nil {
		return found, err
	}
	in := calls{v, of, replace}
	w.Find(x.Windows.Print(ms[len(ms)-1].ID), func(ordinal uint64) bool {
		found, err = in.endingAt(of.Moves.Seq(ordinal), ms)
		return found.Found || found.Partly || err != nil
	})
	return found, err
}

// calls are those that brought messages of an incarnation, replaces or others.
type calls struct {
	v       *memtable.View
	of      layout.Remembered
	replace bool
}

// endingAt is Earlier for a call whose last message would have a seq.
func (c *calls) endingAt(last uint64, ms []turn.NewMessage) (Earlier, error) {
	if more, err := c.goesOn(last); more || err != nil {
		return Earlier{}, err
	}
	found := Earlier{Last: last}
	var by layout.Bringer
	for i := range ms {
		if i > 0 && by == layout.BeginsReplace {
			return Earlier{}, nil
		}
		if last <= uint64(i) || last-uint64(i) < c.of.WindowStart() {
			found.Partly = i > 0
			return found, nil
		}
		found.First = last - uint64(i)
		rec, ok, err := c.v.Find(found.First)
		if err != nil {
			return Earlier{}, err
		}
		if by = rec.By; i == 0 {
			found.Revision = rec.Revision
		}
		n := &ms[len(ms)-1-i]
		if !ok || rec.ID != n.ID || !rec.Carries(n.Data) || rec.Revision != found.Revision || !c.may(by) ||
			c.of.Moves.Runs.Has(rec.Seq) {
			return Earlier{}, nil
		}
	}
	found.Found = by != layout.InReplace // or there is one before it
	return found, nil
}

// may reports whether a message may have been brought by such a call.
func (c *calls) may(by layout.Bringer) bool {
	if c.replace {
		return by != layout.ByAppend
	}
	return by == layout.ByUnknown || by == layout.ByAppend
}

// goesOn reports whether the replace that brought a message brought others behind it.
func (c *calls) goesOn(last uint64) (bool, error) {
	if last == c.of.Last {
		return false, nil
	}
	next, ok, err := c.v.Find(last + 1)
	return ok && next.By == layout.InReplace && !c.of.Moves.Runs.Has(next.Seq), err
}
