package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// remembered says which messages of an incarnation are known by their ids.
type remembered struct {
	inc    uint64
	last   uint64 // highest seq given out
	lastID uint64 // no message with a higher one was appended with an id
	moves  layout.Moves
}

func rememberedOf(h *memtable.Head) remembered { return remembered{h.Inc, h.Last, h.LastID, h.Moves} }

func rememberedAfter(g *layout.Tombstone) remembered {
	return remembered{g.Inc, g.Last, g.Last, g.Moves}
}

func (r *remembered) windowStart() uint64 { return r.moves.WindowStart(r.last) }

// any reports whether an id is remembered.
func (r *remembered) any() bool { return r.lastID > 0 && r.lastID >= r.windowStart() }
