package layout

// Remembered says which messages of an incarnation are known by their ids.
type Remembered struct {
	Inc    uint64
	Last   uint64 // highest seq given out
	LastID uint64 // no message with a higher one was appended with an id
	Moves  Moves
}

// Remembered returns what is remembered of a session.
func (h *Head) Remembered() Remembered { return Remembered{h.Inc, h.Last, h.LastID, h.Moves} }

// Remembered returns what is remembered of a deleted session.
func (g *Tombstone) Remembered() Remembered { return Remembered{g.Inc, g.Last, g.Last, g.Moves} }

// WindowStart returns the lowest seq whose id is remembered, if it had one.
func (r *Remembered) WindowStart() uint64 { return r.Moves.WindowStart(r.Last) }

// Any reports whether an id is remembered.
func (r *Remembered) Any() bool { return r.LastID > 0 && r.LastID >= r.WindowStart() }
