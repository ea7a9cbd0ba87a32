package sessions

import (
	"math"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// settle finishes a removal from an owned head: it sets h.first, the count of
// sessions, the deadline and the revision.
func (s *Operations) settle(key string, h *memtable.Head, before uint64, list bool) error {
	s.CountKey(key, before > 0, h.Held())
	if h.Count() == 0 {
		h.First = 0
		if list {
			s.SetDeadline(key, h, 0, 0)
		}
	} else {
		if err := s.findFirst(h); err != nil {
			return err
		}
	}
	if err := s.endTurns(h); err != nil {
		return err
	}
	s.Changed(key, h)
	return nil
}

// TakeFrom removes up to n messages from one end of an owned head and returns
// them in the order of removal.
func (s *Operations) TakeFrom(h *memtable.Head, end turn.Side, n uint64) ([]layout.Record, error) {
	return s.takeFrom(h, end, n, false)
}

// takeFrom is TakeFrom; what it passes may be paid already.
func (s *Operations) takeFrom(h *memtable.Head, end turn.Side, n uint64, paid bool) ([]layout.Record, error) {
	v, err := s.View(h)
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
	if !paid {
		s.Allowance.Bound(&v)
	}
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
	if !paid {
		s.Allowance.Take(cost.Passed * (v.Passed - uint64(len(rs)+len(rest))))
	}
	s.drop(h, near, false, memtable.RemovalOf(rs))
	s.drop(h, far, true, memtable.RemovalOf(rest))
	slices.Reverse(rs)
	return append(rs, rest...), nil
}

// interrupted ends a removal from the upper end of a side whose walk had to pass too many
// messages of the other one. What it has passed, the next one does not pass again.
func (s *Operations) interrupted(h *memtable.Head, side turn.Side, rs []layout.Record, v *memtable.View) error {
	err := s.Allowance.Searched(v)
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

func (s *Operations) pop(o *turn.Pop, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h != nil {
		if err := s.AffordPop(h, o.From, o.Count); err != nil {
			return err
		}
	}
	return s.popFrom(key, h, o, r, false)
}

// popFrom is pop for a session, nil if there is none, from which as much can be popped. That may be paid already.
func (s *Operations) popFrom(key string, h *memtable.Head, o *turn.Pop, r *turn.Result, paid bool) error {
	if h == nil {
		return nil
	}
	if h.Count() == 0 {
		r.Revision = h.Revision
		return nil
	}
	h = s.Own(key, h)
	before, waited, highest := h.Count(), h.Open, uint64(0)
	rs, err := s.takeFrom(h, o.From, o.Count, paid)
	if err != nil {
		return err
	}
	if !paid {
		s.Allowance.TookOut(rs)
	}
	for i := range rs {
		r.Messages = append(r.Messages, rs[i].Message())
		highest = max(highest, rs[i].Seq)
	}
	if err := s.waitOn(h, waited, highest); err != nil {
		return err
	}
	r.Removed = uint64(len(rs))
	err = s.settle(key, h, before, o.List)
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

func (s *Operations) clear(o *turn.Clear, r *turn.Result) error {
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

// AffordPop reports an error if n messages at an end of a session cost more than is left.
func (s *Operations) AffordPop(h *memtable.Head, end turn.Side, n uint64) error {
	n = min(n, h.Count())
	if n == 0 {
		return nil
	}
	if n <= cost.SmallPop {
		return s.Allowance.Fits(n)
	}
	if s.Allowance.Fits(h.Bytes+cost.Message*n) == nil {
		return nil
	}
	copies, others, err := s.costOfPop(h, end, n)
	if err == nil {
		if err = s.Allowance.Fits(copies + others); err != nil {
			s.Allowance.Left = 0
		}
	}
	return err
}

// costOfPop walks over what a pop takes out, until that costs more than is left. It returns what the messages cost,
// and what it costs to pass others.
func (s *Operations) costOfPop(h *memtable.Head, end turn.Side, n uint64) (copies, others uint64, err error) {
	v, err := s.View(h)
	if err != nil {
		return 0, 0, err
	}
	s.Allowance.Bound(&v)
	defer v.Passing()()
	others -= v.Passed
	each := func(r *layout.Record) bool {
		copies += cost.OfCopy(r)
		others--
		n--
		return n > 0 && copies <= uint64(s.Allowance.Left)
	}
	if end == turn.Newest {
		err = v.Newest(memtable.AnySide, layout.MaxSeq, each)
	} else {
		err = v.List(end, h.Count(), each)
	}
	return copies, cost.Passed * (others + v.Passed), err
}
