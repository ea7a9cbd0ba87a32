package sessions

import (
	"cmp"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

// A push is told to be a repeat by what is held of it: in the list, or in the one that its key was renamed to.

func (l lists) pushOnce(o *turn.PushOnce, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := l.session(key)
	if err != nil || o.OnlyExisting && !h.Held() {
		return err
	}
	again, err := l.repeated(h, o.Messages, r)
	if !again && err == nil {
		again, err = l.renamedSince(o.Key, o.Messages, h, r)
	}
	if again || err != nil {
		return err
	}
	return l.extend(key, h, &turn.Append{Messages: o.Messages, Side: o.Side}, r)
}

// repeated is Duplicate among the messages that the session holds, or would hold but for its retention; h is nil
// if there is none.
func (l lists) repeated(h *memtable.Head, ms []turn.NewMessage, r *turn.Result) (bool, error) {
	if h == nil {
		return false, nil
	}
	live, err := l.View(h)
	if err != nil {
		return false, err
	}
	l.Allowance.Bound(&live)
	var found pushed
	var refused error
	for i := 0; i < len(ms) && refused == nil; i++ {
		if refused, err = l.pushedBefore(h, &live, &ms[i], &found); err != nil {
			return false, err
		}
	}
	if refused != nil && l.Meta.Level < turn.Level5 {
		return false, refused // before that, the search for it cost nothing
	}
	if err := cmp.Or(l.Allowance.Searched(&live), refused); err != nil || found.n == 0 {
		return false, err
	}
	return true, found.answer(ms, h, r)
}

// pushedBefore is repeated for one message, which it adds to those found. One whose id a replace gave again is known as
// long as the session keeps either message.
func (l lists) pushedBefore(
	h *memtable.Head, live *memtable.View, n *turn.NewMessage, found *pushed,
) (refused, err error) {
	if n.ID == "" {
		return nil, nil
	}
	rec, ok, err := l.IDs.Find(h, n.ID)
	if !ok || err != nil {
		return nil, err
	}
	there, err := keeps(h, live, &rec)
	if err != nil {
		return nil, err
	}
	if first, known, err := l.IDs.FirstIn(h.Remembered(), &rec); err != nil {
		return nil, err
	} else if known {
		if first.Seq != rec.Seq && !there {
			if there, err = keeps(h, live, &first); err != nil {
				return nil, err
			}
		}
		if first.Carries(n.Data) {
			rec = first
		}
	}
	switch {
	case !there:
	case !rec.Carries(n.Data):
		return turn.Errorf(turn.IDReused, "id %q belongs to message %d, which has another payload", n.ID, rec.Seq), nil
	default:
		found.add(&rec)
	}
	return nil, nil
}

// keeps reports whether a session holds what was appended to it as a record, wherever it is by now, or would hold
// it but for its retention.
func keeps(h *memtable.Head, live *memtable.View, rec *layout.Record) (bool, error) {
	if live.Live(rec) || h.Dropped.Has(rec.Seq) {
		return true, nil
	}
	_, there, err := live.MovedTo(h.Moves, rec.Seq, rec.ID)
	return there, err
}

// renamedSince reports whether a push is one that came before the key was renamed, as it came then. Otherwise,
// what was renamed says nothing about it.
func (l lists) renamedSince(k turn.Key, ms []turn.NewMessage, h *memtable.Head, r *turn.Result) (bool, error) {
	if h != nil && h.TombstonesUntil <= l.Meta.Clock {
		return false, nil
	}
	tombstones, err := l.IDs.Tombstones(layout.JoinKey(k))
	if err != nil {
		return false, err
	}
	for i := range tombstones {
		g := &tombstones[i]
		if g.Renamed.Inc == 0 {
			continue
		}
		recs, err := l.pushedAsOne(g, ms)
		if err != nil {
			return false, err
		}
		if len(recs) == 0 {
			continue
		}
		found, err := l.heldRenamed(k.Namespace, g, recs)
		if err != nil {
			return false, err
		}
		if found.n > 0 {
			return true, found.answer(ms, h, r)
		}
	}
	return false, nil
}

// pushedAsOne returns the records of messages that one push brought to a session that was deleted since, nil if
// they did not come like that.
func (l lists) pushedAsOne(g *layout.Tombstone, ms []turn.NewMessage) ([]layout.Record, error) {
	recs, size := make([]layout.Record, len(ms)), uint64(0)
	for i := range ms {
		if ms[i].ID == "" {
			return nil, nil
		}
		size += max(layout.DigestSize, uint64(len(ms[i].Data)))
	}
	var run messageids.Run
	for i := range ms {
		rec, ok, err := l.IDs.FindDeleted(g, ms[i].ID, run)
		if ok && err == nil && rec.First() != rec.Seq {
			rec, err = l.firstDeleted(g, &rec)
		}
		if !ok || err != nil || !rec.Carries(ms[i].Data) {
			return nil, err
		}
		if recs[i] = rec; rec.Revision != recs[0].Revision || rec.Seq != recs[0].Seq+uint64(i) {
			return nil, nil
		}
		if i == 0 {
			if err := l.looked(cost.Look + cost.Passed*uint64(len(ms)) + size/cost.PassedBytes); err != nil {
				return nil, err
			}
			if run, err = l.IDs.Run(g.Inc, rec.Seq, uint64(len(ms)), size); err != nil {
				return nil, err
			}
		}
	}
	return recs, nil
}

// firstDeleted returns the message of a deleted session that had the id of a record first, or the record if that is no
// longer remembered.
func (l lists) firstDeleted(g *layout.Tombstone, rec *layout.Record) (layout.Record, error) {
	if err := l.looked(cost.Look); err != nil {
		return *rec, err
	}
	first, ok, err := l.IDs.FirstIn(g.Remembered(), rec)
	if !ok {
		first = *rec
	}
	return first, err
}

// looked takes the cost of a look at messages in one of many sessions off the allowance. Before turn.Level3 that
// costs nothing.
func (l lists) looked(n uint64) error {
	if l.Meta.Level < turn.Level3 {
		return nil
	}
	return l.Allowance.Spend(n)
}

// maxRenamings is how often a key may have been renamed since a push that is still recognised: each costs a look
// at a key.
const maxRenamings = 8

// renamedTo returns the session that has the messages of a renamed one now, nil if there is none.
func (l lists) renamedTo(namespace string, of layout.Renamed) (*memtable.Head, error) {
	for range maxRenamings {
		if err := l.Allowance.Spend(cost.PassedKey); err != nil {
			return nil, err
		}
		key := layout.JoinKey(turn.Key{Namespace: namespace, Name: of.To})
		h, err := l.Find(key)
		if err != nil || h != nil && h.Inc == of.Inc {
			return h, err
		}
		g, ok, err := l.IDs.Tombstone(key, of.Inc)
		if !ok || g.Renamed.Inc == 0 || err != nil {
			return nil, err
		}
		of = g.Renamed
	}
	return nil, nil
}

// heldRenamed returns which of its records are kept by the session that has the messages of a renamed one now.
func (l lists) heldRenamed(namespace string, g *layout.Tombstone, recs []layout.Record) (found pushed, err error) {
	h, err := l.renamedTo(namespace, g.Renamed)
	if h == nil || err != nil {
		return found, err
	}
	live, err := l.View(h)
	if err != nil {
		return found, err
	}
	l.Allowance.Bound(&live)
	size := uint64(0)
	for i := range recs {
		size += uint64(len(recs[i].Data))
	}
	run, err := l.IDs.Run(h.Inc, recs[0].Seq, uint64(len(recs)), size)
	if err != nil {
		return found, err
	}
	for i := range recs {
		there, err := l.keepsRenamed(h, &live, run, &recs[i])
		if err != nil {
			return found, err
		}
		if there {
			found.add(&recs[i])
		}
	}
	return found, l.Allowance.Searched(&live)
}

// keepsRenamed is keeps for the record of a session that was renamed: there it has the same seq, or another one if it
// had been moved within the list. A run of its messages is at hand.
func (l lists) keepsRenamed(
	h *memtable.Head, live *memtable.View, run messageids.Run, rec *layout.Record,
) (there bool, err error) {
	if h.Dropped.Has(rec.Seq) {
		return true, nil
	}
	live.Passed++
	at, ok := run.At(rec.Seq)
	if !ok {
		at, ok, err = live.Find(rec.Seq)
	}
	if err != nil || ok && live.Live(&at) {
		return err == nil, err
	}
	if err := l.looked(cost.Look); err != nil {
		return false, err
	}
	known, ok, err := l.IDs.FindAmong(h, rec.ID, run)
	if !ok || err != nil {
		return false, err
	}
	return keeps(h, live, &known)
}

// pushed are messages of a push that are known from before.
type pushed struct {
	n           int
	first, last uint64 // seqs
	revision    uint64 // of the last one's push
	apart       bool   // they are not contiguous
}

func (p *pushed) add(rec *layout.Record) {
	if p.n == 0 {
		p.first = rec.Seq
	}
	p.apart = p.apart || p.n > 0 && rec.Seq != p.last+1
	p.n++
	p.last, p.revision = rec.Seq, rec.Revision
}

// answer fills in r as when the messages came, all of which are known; h is what the key holds now.
func (p *pushed) answer(ms []turn.NewMessage, h *memtable.Head, r *turn.Result) error {
	if p.n < len(ms) || p.apart {
		e := turn.Errorf(turn.Conflict, "%d of the %d messages are known by their ids, but not as one append", p.n,
			len(ms))
		if h != nil {
			e.Revision = h.Revision
		}
		return e
	}
	r.First, r.Last, r.Revision, r.Duplicate = p.first, p.last, p.revision, true
	if h != nil {
		r.Count = h.Count()
	}
	return nil
}
