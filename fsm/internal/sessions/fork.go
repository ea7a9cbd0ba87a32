package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) fork(o *turn.Fork, r *turn.Result) error {
	from, to := layout.JoinKey(o.Key), layout.JoinKey(o.To)
	src, err := s.expected(from, o.Expect)
	if err != nil {
		return err
	}
	if src == nil {
		return turn.Errorf(turn.NotFound, "the session to fork does not exist")
	}
	if there, err := s.Find(to); err != nil {
		return err
	} else if there != nil {
		return turn.Errorf(turn.Exists, "the target of the fork exists already")
	}
	at := o.At
	if at == 0 {
		at = src.Last
	}
	if at > src.Last {
		return turn.Errorf(turn.NotFound, "the session ends at message %d, before %d", src.Last, at)
	}
	rs, inside, err := s.forked(src, at)
	if err != nil {
		return err
	}
	h, err := s.create(to)
	if err != nil {
		return err
	}
	s.broughtByFork(rs)
	s.copyTo(h, src, at, rs)
	s.forkCalls(h, src, inside)
	s.CountKey(to, false, h.Held())
	s.Changed(to, h)
	r.First, r.Last, r.Count, r.Revision = h.First, h.Last, h.Count(), h.Revision
	return nil
}

// broughtByFork has messages of their own tell of no replace: the fork may have only some of what one brought, and has
// no message that had an id before.
func (s *Operations) broughtByFork(rs []layout.Record) {
	if s.Meta.Level < turn.Level5 {
		return
	}
	for i := range rs {
		rs[i].Told, rs[i].Notes = rs[i].ID != "", nil
	}
}

// copyTo gives an owned head of a new session the messages with seq ≤ at, and the metadata, of another. Of those
// that are dead, their ids are known.
func (s *Operations) copyTo(h, src *memtable.Head, at uint64, rs []layout.Record) {
	h.Last, h.Meta, h.Low = at, src.Meta, [2]uint64{1, 1}
	for _, rec := range rs {
		s.Tables.Active.Add(h, rec)
		if rec.Dead {
			continue
		}
		if h.First == 0 {
			h.First = rec.Seq
		}
		h.Take(rec.Side, rec.Seq)
		h.Live[rec.Side]++
		h.Bytes += uint64(len(rec.Data))
		if rec.ID != "" {
			h.LastID = rec.Seq
		}
	}
}

// forkCalls gives a fork the calls that wait in it: inside tells whether the message
// behind its last one came while some did.
func (s *Operations) forkCalls(h, src *memtable.Head, inside bool) {
	if h.Count() == 0 {
		return
	}
	var open []layout.OpenCall
	for _, c := range src.Open {
		if c.Seq <= h.Last {
			open = append(open, c)
		} else {
			inside = inside || c.ID == 0
		}
	}
	if s.setOpen(h, open); inside {
		s.reopen(h)
	}
}

// forked returns the live messages of src with seq ≤ at, in memory of their own, and whether the one behind
// them is Inside.
func (s *Operations) forked(src *memtable.Head, at uint64) (rs []layout.Record, inside bool, err error) {
	limits, size := turn.DefaultLimits(), 0 // the same on every node
	if at == src.Last {
		if err := s.Allowance.Fits(src.Bytes + cost.Message*src.Count()); err != nil &&
			src.Count() <= uint64(limits.ForkMessages) && src.Bytes <= uint64(limits.ForkBytes) {
			return nil, false, err // without reading
		}
	}
	v, err := s.View(src)
	if err != nil {
		return nil, false, err
	}
	fits, more, total := true, true, uint64(0)
	err = v.Oldest(memtable.AnySide, 0, func(r *layout.Record) bool {
		if more = r.Seq <= at; !more {
			inside = r.Inside
			return false
		}
		size += len(r.Data)
		total += cost.OfCopy(r)
		fits = len(rs) < limits.ForkMessages && size <= limits.ForkBytes
		rs = append(rs, r.Copied())
		more = fits && total <= uint64(s.Allowance.Left)
		return more
	})
	if err == nil && more && uint64(len(rs)) != src.Count() {
		return nil, false, layout.HeadCountsMore(src.Inc)
	}
	if err == nil && !fits {
		err = turn.Errorf(turn.TooLarge, "a fork or a renaming copies at most %d messages and %d bytes",
			limits.ForkMessages, limits.ForkBytes)
	}
	if paid := s.Allowance.Spend(total); err == nil {
		err = paid
	}
	return rs, inside, err
}
