package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// remembered says which messages of an incarnation are known by their ids.
type remembered struct {
	inc    uint64
	last   uint64 // highest seq given out
	lastID uint64 // no message with a higher one was appended with an id
	moves  layout.Moves
}

func rememberedOf(h *head) remembered { return remembered{h.Inc, h.Last, h.LastID, h.Moves} }

func rememberedAfter(g *layout.Tombstone) remembered {
	return remembered{g.Inc, g.Last, g.Last, g.Moves}
}

func (r *remembered) windowStart() uint64 { return r.moves.WindowStart(r.last) }

// any reports whether an id is remembered.
func (r *remembered) any() bool { return r.lastID > 0 && r.lastID >= r.windowStart() }

// replaceRun gives messages a new place, the first one's at once behind all seqs given
// out: that of one new message, and of others that were taken out.
func (m *Machine) replaceRun(h *head, rs []layout.Record) {
	first := h.Last + 1
	counted := h.LastID == 0
	for _, rec := range rs {
		if counted {
			m.place(h, rec)
		} else {
			m.add(h, &rec)
		}
	}
	if !counted {
		before := movesSize(h.Moves)
		h.Moves = h.Moves.With(layout.Span{From: first, To: h.Last})
		m.active.bytes += movesSize(h.Moves) - before
	}
}

// movedTo returns the live message that the removed one with that seq and id was moved to.
func (v *view) movedTo(mv layout.Moves, seq uint64, id string) (rec layout.Record, ok bool, err error) {
	if len(mv.Runs) == 0 || mv.Runs[len(mv.Runs)-1].To < seq {
		return rec, false, nil
	}
	err = v.newest(anySide, layout.MaxSeq, func(r *layout.Record) bool {
		if r.Seq <= seq {
			return false
		}
		if r.ID == id && mv.Runs.Has(r.Seq) {
			rec, ok = *r, true
		}
		return !ok
	})
	return rec, ok, err
}

// movesSize estimates the memory of the runs.
func movesSize(v layout.Moves) int { return spanCost * len(v.Runs) }
