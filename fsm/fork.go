package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

func (s *sessions) fork(o *turn.Fork, r *turn.Result) error {
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
	rs, err := s.forked(src, at)
	if err != nil {
		return err
	}
	h, err := s.create(to)
	if err != nil {
		return err
	}
	h.Last, h.Meta, h.Low, h.High = at, src.Meta, [2]uint64{1, 1}, [2]uint64{at, at}
	for _, rec := range rs {
		s.tables.Active.Add(h, rec)
		h.Take(rec.Side, rec.Seq)
		h.Live[rec.Side]++
		h.Bytes += uint64(len(rec.Data))
		if rec.ID != "" {
			h.LastID = rec.Seq
		}
	}
	if len(rs) > 0 {
		h.First = rs[0].Seq
	}
	s.namespaces.count(to, false, h.Held())
	s.changed(to, h)
	r.First, r.Last, r.Count, r.Revision = h.First, h.Last, h.Count(), h.Revision
	return nil
}

// forked returns the live messages of src with seq ≤ at, in memory of their own.
func (s *sessions) forked(src *memtable.Head, at uint64) (rs []layout.Record, err error) {
	limits, size := turn.DefaultLimits(), 0 // the same on every node
	if at == src.Last {
		if err := s.allowance.fits(src.Bytes + messageCost*src.Count()); err != nil &&
			src.Count() <= uint64(limits.ForkMessages) && src.Bytes <= uint64(limits.ForkBytes) {
			return nil, err // without reading
		}
	}
	v, err := s.view(src)
	if err != nil {
		return nil, err
	}
	fits, more, cost := true, true, uint64(0)
	err = v.Oldest(memtable.AnySide, 0, func(r *layout.Record) bool {
		if more = r.Seq <= at; !more {
			return false
		}
		size += len(r.Data)
		cost += copyCost(r)
		fits = len(rs) < limits.ForkMessages && size <= limits.ForkBytes
		rs = append(rs, r.Copied())
		more = fits && cost <= uint64(s.allowance.left)
		return more
	})
	if err == nil && more && uint64(len(rs)) != src.Count() {
		return nil, layout.HeadCountsMore(src.Inc)
	}
	if err == nil && !fits {
		err = turn.Errorf(turn.TooLarge, "a fork copies at most %d messages and %d bytes", limits.ForkMessages,
			limits.ForkBytes)
	}
	if paid := s.allowance.spend(cost); err == nil {
		err = paid
	}
	return rs, err
}
