package fsm

import (
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) fork(o *turn.Fork, r *turn.Result) error {
	from, to := joinKey(o.Key), joinKey(o.To)
	src, err := m.expected(from, o.Expect)
	if err != nil {
		return err
	}
	if src == nil {
		return turn.Errorf(turn.NotFound, "the session to fork does not exist")
	}
	if there, err := m.find(to); err != nil {
		return err
	} else if there != nil {
		return turn.Errorf(turn.Exists, "the session to fork to exists")
	}
	at := o.At
	if at == 0 {
		at = src.last
	}
	if at > src.last {
		return turn.Errorf(turn.NotFound, "the session ends at message %d, before %d", src.last, at)
	}
	rs, err := m.forked(src, at)
	if err != nil {
		return err
	}
	h, err := m.create(to)
	if err != nil {
		return err
	}
	h.last, h.meta, h.low, h.high = at, src.meta, [2]uint64{1, 1}, [2]uint64{at, at}
	for _, rec := range rs {
		m.active.add(h, rec)
		if m.level() >= turn.Level1 {
			h.take(rec.side, rec.seq)
		}
		h.live[rec.side]++
		h.bytes += uint64(len(rec.data))
		if rec.id != "" {
			h.lastID = rec.seq
		}
	}
	if len(rs) > 0 {
		h.first = rs[0].seq
	}
	m.count(to, false, h.held())
	m.changed(to, h)
	r.First, r.Last, r.Count, r.Revision = h.first, h.last, h.count(), h.revision
	return nil
}

// forked returns the live messages of src with seq ≤ at, in memory of their own.
func (m *Machine) forked(src *head, at uint64) (rs []record, err error) {
	limits, size := turn.DefaultLimits(), 0 // the same on every node
	if at == src.last && m.limited() {
		if err := m.allowance.fits(src.bytes + messageCost*src.count()); err != nil &&
			src.count() <= uint64(limits.ForkMessages) && src.bytes <= uint64(limits.ForkBytes) {
			return nil, err // without reading
		}
	}
	v, err := m.view(src)
	if err != nil {
		return nil, err
	}
	fits, more, cost := true, true, uint64(0)
	err = v.oldest(anySide, 0, func(r *record) bool {
		if more = r.seq <= at; !more {
			return false
		}
		size += len(r.data)
		cost += copyCost(r)
		fits = len(rs) < limits.ForkMessages && size <= limits.ForkBytes
		rs = append(rs, r.copied())
		more = fits && (!m.limited() || cost <= uint64(m.allowance.left))
		return more
	})
	if err == nil && more && uint64(len(rs)) != src.count() {
		return nil, headCountsMore(src.inc)
	}
	if err == nil && !fits {
		err = turn.Errorf(turn.TooLarge, "a fork copies at most %d messages and %d bytes", limits.ForkMessages, limits.ForkBytes)
	}
	if paid := m.spend(cost); err == nil {
		err = paid
	}
	return rs, err
}
