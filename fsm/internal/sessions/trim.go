package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/values"
	"github.com/turnlog/turnlog/turn"
)

func (s *Operations) trim(o *turn.Trim, r *turn.Result) error {
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

func (s *Operations) trimBefore(h *memtable.Head, seq uint64) error {
	if seq > h.Last {
		s.dropAll(h)
		return nil
	}
	v, err := s.View(h)
	if err != nil {
		return err
	}
	gone, err := v.Before(seq, h.Count())
	s.drop(h, memtable.AnySide, true, gone)
	return err
}

// keepRange removes what is outside the list elements start … stop.
func (s *Operations) keepRange(h *memtable.Head, start, stop int64) error {
	first, n := values.Range(start, stop, h.Count())
	if n == 0 {
		s.dropAll(h)
		return nil
	}
	after, waited := h.Count()-first-n, h.Open
	left, err := s.dropFrom(h, turn.Head, first)
	if err != nil {
		return err
	}
	right, err := s.dropFrom(h, turn.Tail, after)
	if err != nil {
		return err
	}
	return s.waitOn(h, waited, max(left, right))
}
