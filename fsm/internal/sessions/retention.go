package sessions

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// retain sets the length that a session keeps by itself.
func (s *Operations) retain(o *turn.Retain, r *turn.Result) error {
	key := layout.JoinKey(o.Key)
	h, err := s.expected(key, o.Expect)
	if err != nil {
		return err
	}
	if h == nil && o.Keep == (turn.Retention{}) {
		return nil
	}
	turns, err := s.turnsFor(h, o.Keep)
	if err != nil {
		return err
	}
	return s.retainFrom(key, h, o, turns, r)
}

// turnsFor returns where the turns begin that a session, nil if there is none yet, is to keep.
func (s *Operations) turnsFor(h *memtable.Head, keep turn.Retention) ([]uint64, error) {
	if h == nil || keep.Turns == 0 || h.Retention == keep {
		return nil, nil
	}
	return s.turnsOf(h, keep.Turns)
}

// retainFrom is retain for a session, nil if there is none yet, whose turns that it is to keep begin at some seqs.
func (s *Operations) retainFrom(
	key string, h *memtable.Head, o *turn.Retain, turns []uint64, r *turn.Result,
) (err error) {
	if h != nil && h.Retention == o.Keep {
		r.Count, r.Revision = h.Count(), h.Revision
		return nil
	}
	if h == nil {
		if h, err = s.create(key); err != nil {
			return err
		}
	}
	h = s.Own(key, h)
	before := h.Count()
	s.Tables.Active.Count(memtable.TurnCost * (len(turns) - len(h.Turns)))
	h.Retention, h.Turns = o.Keep, turns
	err = s.shorten(h)
	s.Changed(key, h)
	r.Removed, r.Count, r.Revision = before-h.Count(), h.Count(), h.Revision
	return err
}

// turnsReach is how many messages are looked at for where turns begin.
const turnsReach = 1 << 16

// turnsOf returns the seqs at which the last n turns of a session begin. Of those that the head does not
// know, the newest turnsReach messages tell: those of one append have its revision, if they have ids.
func (s *Operations) turnsOf(h *memtable.Head, n uint64) (starts []uint64, err error) {
	known, below := h.Turns, uint64(layout.MaxSeq)
	if uint64(len(known)) >= n {
		return known[uint64(len(known))-n:], nil
	}
	if n -= uint64(len(known)); len(known) > 0 {
		below = known[0] - 1
	}
	if h.Count() == 0 {
		return nil, nil
	}
	v, err := s.View(h)
	if err != nil {
		return nil, err
	}
	revision := uint64(0) // of the message that comes next in the session; 0: a turn by itself
	if err := s.Allowance.SearchNewest(&v, below, func(rec *layout.Record) bool {
		if v.Passed > turnsReach {
			return false
		}
		if len(starts) > 0 && revision != 0 && rec.Revision == revision {
			starts[len(starts)-1] = rec.Seq
			return true
		}
		if revision = rec.Revision; uint64(len(starts)) == n {
			return false
		}
		starts = append(starts, rec.Seq)
		return true
	}); err != nil {
		return nil, err
	}
	slices.Reverse(starts)
	return append(starts, known...), nil
}

// beginTurn notes that a turn begins with a seq, which is above all others of an owned head.
func (s *Operations) beginTurn(h *memtable.Head, seq uint64) {
	if h.Retention.Turns == 0 {
		return
	}
	// Older heads may share the memory, and see only what was there before.
	h.Turns = append(h.Turns, seq)
	if n := uint64(len(h.Turns)); n > h.Retention.Turns {
		h.Turns = h.Turns[n-h.Retention.Turns:]
	} else {
		s.Tables.Active.Count(memtable.TurnCost)
	}
}

// moveTurns has the turns that begin among messages that were lifted off the tail, in list order, begin where these
// are going to be: one after the other, behind one that is new.
func moveTurns(h *memtable.Head, lifted []layout.Record) {
	if len(lifted) == 0 || len(h.Turns) == 0 {
		return
	}
	at := len(lifted) - 1 // what was pushed at the head comes first, the newest before the oldest
	for at > 0 && lifted[at-1].Seq < lifted[at].Seq {
		at--
	}
	n, _ := slices.BinarySearch(h.Turns, lifted[at].Seq)
	starts := h.Turns[:n:n]
	for _, start := range h.Turns[n:] {
		for at < len(lifted) && lifted[at].Seq < start {
			at++
		}
		if at == len(lifted) {
			break
		}
		if seq := h.Last + 2 + uint64(at); len(starts) == 0 || starts[len(starts)-1] != seq {
			starts = append(starts, seq)
		}
	}
	h.Turns = starts
}

// endTurns forgets the turns that begin behind the newest message that an owned head has left.
func (s *Operations) endTurns(h *memtable.Head) error {
	if len(h.Turns) == 0 {
		return nil
	}
	newest, err := s.newest(h)
	if err != nil {
		return err
	}
	n := len(h.Turns)
	for n > 0 && h.Turns[n-1] > newest {
		n--
	}
	h.Turns = h.Turns[:n:n] // the next turn gets other memory: an older head may see this
	return nil
}

// newest returns the seq of the newest message that a session holds, 0 if it holds none.
func (s *Operations) newest(h *memtable.Head) (seq uint64, err error) {
	if h.Count() == 0 {
		return 0, nil
	}
	v, err := s.View(h)
	if err != nil {
		return 0, err
	}
	err = v.Newest(memtable.AnySide, layout.MaxSeq, func(r *layout.Record) bool {
		seq = r.Seq
		return false
	})
	return seq, err
}
