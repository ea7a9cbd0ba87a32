package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

func (s *sessions) trim(o *turn.Trim, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	h = s.Own(key, h)
	before := h.Count()
	switch o.By {
	case turn.KeepLast:
		err = s.keepLast(h, o.N)
	case turn.BeforeSeq:
		err = s.trimBefore(h, o.N)
	case turn.ListRange:
		err = s.keepRange(h, o.Start, o.Stop)
	}
	if err != nil {
		return err
	}
	r.Removed = before - h.Count()
	if r.Removed > 0 {
		err = s.settle(key, h, before, o.By == turn.ListRange)
	}
	r.Count, r.Revision = h.Count(), h.Revision
	return err
}

// keepLast removes all but the n messages with the highest seqs.
func (s *sessions) keepLast(h *memtable.Head, n uint64) error {
	total := h.Count()
	if n >= total {
		return nil
	}
	if n == 0 {
		s.dropAll(h)
		return nil
	}
	v, err := s.view(h)
	if err != nil {
		return err
	}
	if total-n <= n {
		gone, err := v.Pass(memtable.AnySide, 0, total-n, total)
		s.drop(h, memtable.AnySide, true, gone)
		return err
	}
	kept, err := v.Pass(memtable.AnySide, total-n, n, total)
	if err == nil {
		s.keepOnly(h, kept)
	}
	return err
}

// keepOnly removes every live message below kept, which is the whole rest.
func (s *sessions) keepOnly(h *memtable.Head, kept memtable.Removal) {
	h.Live, h.Bytes = kept.Live, kept.Bytes
	h.Low = [2]uint64{max(h.Low[0], kept.Lowest), max(h.Low[1], kept.Lowest)}
	s.tables.Active.RemoveBelow(h.Inc, kept.Lowest)
}

func (s *sessions) trimBefore(h *memtable.Head, seq uint64) error {
	if seq > h.Last {
		s.dropAll(h)
		return nil
	}
	v, err := s.view(h)
	if err != nil {
		return err
	}
	gone, err := v.Before(seq, h.Count())
	s.drop(h, memtable.AnySide, true, gone)
	return err
}

// keepRange removes what is outside the list elements start … stop.
func (s *sessions) keepRange(h *memtable.Head, start, stop int64) error {
	first, n := values.Range(start, stop, h.Count())
	if n == 0 {
		s.dropAll(h)
		return nil
	}
	after := h.Count() - first - n
	if err := s.dropFrom(h, turn.Head, first); err != nil {
		return err
	}
	return s.dropFrom(h, turn.Tail, after)
}
