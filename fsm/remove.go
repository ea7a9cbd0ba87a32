package fsm

import (
	"math"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// drop removes from an owned head a run of live messages of one side, or of
// AnySide: all from the lower end (bottom) up to the highest of them, or all
// from the upper end down to the lowest.
func (s *sessions) drop(h *memtable.Head, side turn.Side, bottom bool, x memtable.Removal) {
	if x.Lowest == 0 {
		return
	}
	for of, n := range x.Live {
		h.Live[of] -= n
	}
	h.Bytes -= x.Bytes
	for _, of := range [...]turn.Side{turn.Tail, turn.Head} {
		if side != of && side != memtable.AnySide {
			continue
		}
		if bottom {
			h.Low[of] = max(h.Low[of], x.Highest+1)
			s.tables.Active.RemoveBelow(h.Inc, x.Highest+1)
		} else {
			s.tables.Active.RemoveTop(h.Inc, of, layout.Span{From: x.Lowest, To: x.Highest})
			s.lower(h, of, x.Lowest-1)
		}
	}
}

// lower notes that no message of a side with a seq above high is alive.
func (s *sessions) lower(h *memtable.Head, side turn.Side, high uint64) {
	h.High[side] = min(h.High[side], high)
}

// settle finishes a removal from an owned head: it sets h.first, the count of
// sessions, the deadline and the revision.
func (s *sessions) settle(key string, h *memtable.Head, before uint64, list bool) error {
	s.namespaces.count(key, before > 0, h.Held())
	if h.Count() == 0 {
		h.First = 0
		if list {
			s.SetDeadline(key, h, 0, 0)
		}
	} else {
		v, err := s.view(h)
		if err != nil {
			return err
		}
		found := false
		if err := v.Oldest(memtable.AnySide, h.First, func(r *layout.Record) bool {
			h.First, found = r.Seq, true
			return false
		}); err != nil {
			return err
		}
		if !found {
			return layout.HeadCountsMore(h.Inc)
		}
	}
	s.changed(key, h)
	return nil
}

// takeFrom removes up to n messages from one end of an owned head and returns
// them in the order of removal.
func (s *sessions) takeFrom(h *memtable.Head, end turn.Side, n uint64) ([]layout.Record, error) {
	v, err := s.view(h)
	if err != nil {
		return nil, err
	}
	if end == turn.Newest {
		rs, err := v.Ranks(memtable.AnySide, h.Count()-min(n, h.Count()), n, h.Count())
		s.drop(h, memtable.AnySide, false, memtable.RemovalOf(rs))
		slices.Reverse(rs)
		return rs, err
	}
	// The list is the head side from its highest seq down, then the tail side
	// from its lowest up. An end is the upper end of its own side, and beyond
	// that the lower end of the other.
	near, far := end, turn.Tail+turn.Head-end
	fromNear := min(n, h.Live[near])
	s.allowance.bound(&v)
	rs, err := v.Ranks(near, h.Live[near]-fromNear, fromNear, h.Live[near])
	if err == nil && v.Over() {
		err = s.interrupted(h, near, rs, &v)
	}
	if err != nil {
		return nil, err
	}
	v.Most = math.MaxUint64 // the other side begins where this one ends
	rest, err := v.Ranks(far, 0, n-fromNear, h.Live[far])
	if err != nil {
		return nil, err
	}
	s.allowance.take(passedCost * (v.Passed - uint64(len(rs)+len(rest))))
	s.drop(h, near, false, memtable.RemovalOf(rs))
	s.drop(h, far, true, memtable.RemovalOf(rest))
	slices.Reverse(rs)
	return append(rs, rest...), nil
}

// interrupted ends a removal from the upper end of a side whose walk had to pass too many
// messages of the other one. What it has passed, the next one does not pass again.
func (s *sessions) interrupted(h *memtable.Head, side turn.Side, rs []layout.Record, v *memtable.View) error {
	err := s.allowance.searched(v)
	high := v.End
	if n := len(rs); n > 0 {
		high = rs[n-1].Seq
	} else {
		err = turn.Errorf(turn.Overloaded, "too many messages of the list's other end are in between; "+
			"send the operation again")
	}
	s.lower(h, side, high)
	return err
}

// dropFrom is takeFrom for messages that are not returned.
func (s *sessions) dropFrom(h *memtable.Head, end turn.Side, n uint64) error {
	v, err := s.view(h)
	if err != nil {
		return err
	}
	near, far := end, turn.Tail+turn.Head-end
	fromNear := min(n, h.Live[near])
	gone, err := v.Pass(near, h.Live[near]-fromNear, fromNear, h.Live[near])
	if err != nil {
		return err
	}
	rest, err := v.Pass(far, 0, n-fromNear, h.Live[far])
	if err != nil {
		return err
	}
	s.drop(h, near, false, gone)
	s.drop(h, far, true, rest)
	return nil
}

func (s *sessions) pop(o *turn.Pop, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	if h.Count() == 0 {
		r.Revision = h.Revision
		return nil
	}
	if err := s.affordPop(h, o.From, o.Count); err != nil {
		return err
	}
	h = s.Own(key, h)
	before := h.Count()
	rs, err := s.takeFrom(h, o.From, o.Count)
	if err != nil {
		return err
	}
	s.allowance.tookOut(rs)
	for i := range rs {
		r.Messages = append(r.Messages, rs[i].Message())
	}
	r.Removed = uint64(len(rs))
	err = s.settle(key, h, before, o.List)
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

// dropAll removes every message of an owned head.
func (s *sessions) dropAll(h *memtable.Head) {
	h.Live, h.Bytes = [2]uint64{}, 0
	h.Low = [2]uint64{h.Last + 1, h.Last + 1}
	s.tables.Active.RemoveBelow(h.Inc, h.Last+1)
}

func (s *sessions) clear(o *turn.Clear, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	r.Revision = h.Revision
	if h.Count() == 0 {
		return nil
	}
	h = s.Own(key, h)
	before := h.Count()
	s.dropAll(h)
	r.Removed = before
	err = s.settle(key, h, before, false)
	r.Revision = h.Revision
	return err
}

func (s *sessions) replace(o *turn.Replace, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.session(key)
	if err != nil {
		return err
	}
	if dup, err := s.duplicate(key, h, o.Messages, r); dup || err != nil {
		return err
	}
	if err := checkExpect(o.Expect, h); err != nil {
		return err
	}
	if h == nil {
		return turn.Errorf(turn.NotFound, "the session does not exist")
	}
	v, err := s.view(h)
	if err != nil {
		return err
	}
	gone, err := v.From(o.From, h.Count())
	if err != nil {
		return err
	}
	if gone.Lowest == 0 && len(o.Messages) == 0 {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	h = s.Own(key, h)
	before := h.Count()
	s.drop(h, memtable.AnySide, false, gone)
	if h.Count() == 0 {
		h.First = 0
	}
	s.namespaces.count(key, before > 0, h.Held())
	r.Removed = gone.Live[turn.Tail] + gone.Live[turn.Head]
	if len(o.Messages) > 0 {
		s.push(key, h, o.Messages, turn.Tail, r)
	}
	if h.Slide > 0 {
		s.SetDeadline(key, h, s.After(h.Slide), h.Slide)
	}
	s.changed(key, h)
	r.Count, r.Revision = h.Count(), h.Revision
	return nil
}

// affordPop reports an error if n messages at an end of a session cost more than is left.
func (ks *keyspace) affordPop(h *memtable.Head, end turn.Side, n uint64) error {
	n = min(n, h.Count())
	if n == 0 {
		return nil
	}
	if n <= smallPop {
		return ks.allowance.fits(n)
	}
	if ks.allowance.fits(h.Bytes+messageCost*n) == nil {
		return nil
	}
	v, err := ks.view(h)
	if err != nil {
		return err
	}
	ks.allowance.bound(&v)
	defer v.Passing()()
	total, others := uint64(0), -v.Passed
	each := func(r *layout.Record) bool {
		total += copyCost(r)
		others--
		n--
		return n > 0 && total <= uint64(ks.allowance.left)
	}
	if end == turn.Newest {
		err = v.Newest(memtable.AnySide, layout.MaxSeq, each)
	} else {
		err = v.List(end, h.Count(), each)
	}
	if total += passedCost * (others + v.Passed); err == nil {
		if err = ks.allowance.fits(total); err != nil {
			ks.allowance.left = 0
		}
	}
	return err
}
