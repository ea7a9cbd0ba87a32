package sessions

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

func (l lists) setElement(o *turn.SetElement, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := l.list(key)
	if err != nil {
		return err
	}
	if h == nil {
		return turn.Errorf(turn.NotFound, "no such key")
	}
	i, n := values.Range(o.Index, o.Index, h.Count())
	if n == 0 {
		return turn.Errorf(turn.Invalid, "index out of range")
	}
	return l.replaceElement(key, h, i, o.Data, r)
}

func (l lists) insertElement(o *turn.InsertElement, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := l.list(key)
	if h == nil || err != nil {
		return err
	}
	v, err := l.View(h)
	if err != nil {
		return err
	}
	i, found := uint64(0), false
	if err := l.Allowance.SearchList(&v, turn.Head, h.Count(), func(rec *layout.Record) bool {
		found = bytes.Equal(rec.Data, o.Pivot)
		if !found {
			i++
		}
		return !found
	}); err != nil {
		return err
	}
	if !found {
		r.Number, r.Count, r.Revision = -1, h.Count(), h.Revision
		return nil
	}
	if o.After {
		i++
	}
	end, lift := turn.Head, i
	if after := h.Count() - i; after < lift {
		end, lift = turn.Tail, after
	}
	err = l.edit(key, h, end, lift, o.Data, r)
	r.Number = int64(r.Count)
	return err
}

// edit takes n elements off an end of the list, puts data there, and puts them back.
func (l lists) edit(key string, h *memtable.Head, end turn.Side, n uint64, data []byte, r *turn.Result) error {
	size, err := l.movable(h, end, n)
	if err != nil {
		return err
	}
	if err := l.Allowance.Spend(size + cost.Message*n); err != nil {
		return err
	}
	h = l.Own(key, h)
	before, waited := h.Count(), len(h.Open) > 0
	lifted, err := l.lift(h, end, n)
	if err != nil {
		return err
	}
	one := layout.Record{Time: l.Meta.Clock, Data: data, Side: end, Inside: waited}
	if err := l.setInside(h, &one, lifted); err != nil {
		return err
	}
	l.kept += len(data)
	first := h.Last + 1
	l.replaceRun(h, append([]layout.Record{one}, lifted...))
	if waited || len(h.Open) > 0 { // calls were moved, or their results
		l.reopen(h)
	}
	l.noteCalls(h, first, data)
	if err := l.shorten(h); err != nil {
		return err
	}
	err = l.settle(key, h, before, true)
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

// lift takes n elements off an end of the list of an owned head, to be put back there behind a new message. It
// returns them in that order.
func (l lists) lift(h *memtable.Head, end turn.Side, n uint64) ([]layout.Record, error) {
	lifted, err := l.TakeFrom(h, end, n)
	if err != nil {
		return nil, err
	}
	slices.Reverse(lifted)
	if end == turn.Tail {
		moveTurns(h, lifted)
	}
	for i := range lifted {
		lifted[i] = lifted[i].Copied()
		lifted[i].Side = end
	}
	return lifted, nil
}

// setInside sets which messages are Inside that are about to be placed: one that is new, which is so if a call
// waited, and behind it those that were lifted.
func (l lists) setInside(h *memtable.Head, one *layout.Record, lifted []layout.Record) error {
	if len(lifted) == 0 || !one.Inside && !slices.ContainsFunc(lifted, func(r layout.Record) bool { return r.Inside }) {
		return nil
	}
	newest, err := l.newest(h)
	if err != nil {
		return err
	}
	bySeq := func(a, b layout.Record) int { return cmp.Compare(a.Seq, b.Seq) }
	if newest < lifted[0].Seq && slices.IsSortedFunc(lifted, bySeq) {
		one.Inside = lifted[0].Inside // the order of commits stays
		return nil
	}
	one.Inside = true // calls may come to be behind their results, or others between them
	for i := range lifted {
		lifted[i].Inside = true
	}
	return nil
}

// movable returns how many bytes the n elements at an end have, or an error if they are
// too many to be moved.
func (l lists) movable(h *memtable.Head, end turn.Side, n uint64) (size uint64, err error) {
	limits := turn.DefaultLimits() // the same on every node
	if n > 0 && n <= uint64(limits.ForkMessages) {
		v, err := l.View(h)
		if err != nil {
			return 0, err
		}
		defer v.Passing()()
		l.Allowance.Bound(&v)
		left := n
		if err := v.List(end, h.Count(), func(rec *layout.Record) bool {
			size += uint64(len(rec.Data))
			left--
			return left > 0
		}); err != nil {
			return 0, err
		}
		if err := l.Allowance.Searched(&v); err != nil {
			return 0, err
		}
	}
	if n > uint64(limits.ForkMessages) || size > uint64(limits.ForkBytes) {
		return 0, turn.Errorf(turn.TooLarge, "the edit would move more than %d messages or %d bytes",
			limits.ForkMessages, limits.ForkBytes)
	}
	return size, nil
}

func (l lists) removeElements(o *turn.RemoveElements, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := l.list(key)
	if h == nil || err != nil {
		return err
	}
	v, err := l.View(h)
	if err != nil {
		return err
	}
	from, most := turn.Head, uint64(o.Count)
	switch {
	case o.Count < 0:
		from, most = turn.Tail, -uint64(o.Count)
	case o.Count == 0:
		most = math.MaxUint64
	}
	var out picked
	if err := l.Allowance.SearchList(&v, from, h.Count(), func(rec *layout.Record) bool {
		if bytes.Equal(rec.Data, o.Data) {
			out.take(rec)
		} else {
			out.pass(rec)
		}
		return out.n < most
	}); err != nil {
		return err
	}
	if r.Removed = out.n; r.Removed == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	h = l.Own(key, h)
	before := h.Count()
	l.dropPicked(h, &out)
	err = l.settle(key, h, before, true)
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

// replaceElement gives the element at index i of the list another payload. The message
// keeps its seq, time and id.
func (l lists) replaceElement(key string, h *memtable.Head, i uint64, data []byte, r *turn.Result) error {
	heads := h.Live[turn.Head]
	side, rank, total := turn.Tail, i-heads, h.Live[turn.Tail]
	if i < heads {
		side, rank, total = turn.Head, heads-1-i, heads
	}
	if limit := turn.DefaultLimits().ForkMessages; min(rank, total-1-rank) > uint64(limit) { // the same on every node
		return turn.Errorf(turn.TooLarge, "the element is more than %d elements away from both ends", limit)
	}
	if err := l.Allowance.Search(); err != nil {
		return err
	}
	v, err := l.View(h)
	if err != nil {
		return err
	}
	l.Allowance.Bound(&v)
	found, err := v.Ranks(side, rank, 1, total)
	if err == nil {
		err = l.Allowance.Searched(&v)
	}
	if err != nil {
		return err
	}
	h = l.Own(key, h)
	l.edited(key, h, &found[0], data)
	r.Count, r.Revision = h.Count(), h.Revision
	return nil
}
