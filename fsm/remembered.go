package fsm

import "github.com/turnlog/turnlog/turn"

// remembered says which messages of an incarnation are known by their ids.
type remembered struct {
	inc    uint64
	last   uint64 // highest seq given out
	lastID uint64 // no message with a higher one was appended with an id
	moves  moves
}

func (h *head) remembered() remembered { return remembered{h.inc, h.last, h.lastID, h.moves} }

func (g *tombstone) remembered() remembered { return remembered{g.inc, g.last, g.last, g.moves} }

func (r *remembered) windowStart() uint64 { return r.moves.windowStart(r.last) }

// any reports whether an id is remembered.
func (r *remembered) any() bool { return r.lastID > 0 && r.lastID >= r.windowStart() }

// replaceRun gives messages a new place, the first one's at once behind all seqs given
// out: that of one new message, and of others that were taken out.
func (m *Machine) replaceRun(h *head, rs []record) {
	first := h.last + 1
	counted := m.level() < turn.Level1 || h.lastID == 0
	for _, rec := range rs {
		if counted {
			m.place(h, rec)
		} else {
			m.add(h, &rec)
		}
	}
	if !counted {
		before := movesSize(h.moves)
		h.moves = h.moves.with(span{first, h.last})
		m.active.bytes += movesSize(h.moves) - before
	}
}

// movedTo returns the live message that the removed one with that seq and id was moved to.
func (v *view) movedTo(mv moves, seq uint64, id string) (rec record, ok bool, err error) {
	if len(mv.runs) == 0 || mv.runs[len(mv.runs)-1].to < seq {
		return rec, false, nil
	}
	err = v.newest(anySide, maxSeq, func(r *record) bool {
		if r.seq <= seq {
			return false
		}
		if r.id == id && mv.runs.has(r.seq) {
			rec, ok = *r, true
		}
		return !ok
	})
	return rec, ok, err
}

// movesSize estimates the memory of the runs.
func movesSize(v moves) int { return spanCost * len(v.runs) }
