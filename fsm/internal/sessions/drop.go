package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// drop removes from an owned head a run of live messages of one side, or of
// AnySide: all from the lower end (bottom) up to the highest of them, or all
// from the upper end down to the lowest.
func (s *Operations) drop(h *memtable.Head, side turn.Side, bottom bool, x memtable.Removal) {
	if x.Lowest == 0 {
		return
	}
	for of, n := range x.Live {
		h.Live[of] -= n
	}
	h.Bytes -= x.Bytes
	s.dropCalls(h, side, bottom, &x)
	for _, of := range [...]turn.Side{turn.Tail, turn.Head} {
		if side != of && side != memtable.AnySide {
			continue
		}
		if bottom {
			h.Low[of] = max(h.Low[of], x.Highest+1)
			s.Tables.Active.RemoveBelow(h.Inc, x.Highest+1)
		} else {
			s.Tables.Active.RemoveTop(h.Inc, of, layout.Span{From: x.Lowest, To: x.Highest})
			s.lower(h, of, x.Lowest-1)
		}
	}
}

// lower notes that no message of a side with a seq above high is alive.
func (s *Operations) lower(h *memtable.Head, side turn.Side, high uint64) {
	h.High[side] = min(h.High[side], high)
}

// dropFrom is TakeFrom for messages of which only the highest seq is returned.
func (s *Operations) dropFrom(h *memtable.Head, end turn.Side, n uint64) (highest uint64, err error) {
	v, err := s.View(h)
	if err != nil {
		return 0, err
	}
	near, far := end, turn.Tail+turn.Head-end
	fromNear := min(n, h.Live[near])
	gone, err := v.Pass(near, h.Live[near]-fromNear, fromNear, h.Live[near])
	if err != nil {
		return 0, err
	}
	rest, err := v.Pass(far, 0, n-fromNear, h.Live[far])
	if err != nil {
		return 0, err
	}
	s.drop(h, near, false, gone)
	s.drop(h, far, true, rest)
	return max(gone.Highest, rest.Highest), nil
}

// dropAll removes every message of an owned head.
func (s *Operations) dropAll(h *memtable.Head) {
	h.Live, h.Bytes = [2]uint64{}, 0
	s.setOpen(h, nil)
	h.Low = [2]uint64{h.Last + 1, h.Last + 1}
	s.Tables.Active.RemoveBelow(h.Inc, h.Last+1)
}

// keepLast removes all but the n messages with the highest seqs.
func (s *Operations) keepLast(h *memtable.Head, n uint64) error {
	total := h.Count()
	if n >= total {
		return nil
	}
	if n == 0 {
		s.dropAll(h)
		return nil
	}
	v, err := s.View(h)
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
func (s *Operations) keepOnly(h *memtable.Head, kept memtable.Removal) {
	h.Live, h.Bytes = kept.Live, kept.Bytes
	h.Low = [2]uint64{max(h.Low[0], kept.Lowest), max(h.Low[1], kept.Lowest)}
	s.Tables.Active.RemoveBelow(h.Inc, kept.Lowest)
}
