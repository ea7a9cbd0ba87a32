package keyspace

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// Elements returns a key's elements, store included.
func (ks *Keys) Elements(h *memtable.Head) (memtable.Elements, error) {
	e, whole := ks.Tables.Elements(h.Inc)
	e.LearnFor(h)
	if whole {
		return e, nil
	}
	var err error
	e.Tx, err = ks.Reading()
	return e, err
}

// PutElement gives an element of an owned head a value, which is not written to again.
func (ks *Keys) PutElement(h *memtable.Head, name string, value []byte) {
	ks.Tables.Active.PutElement(h, name, value)
}

// DeleteElement deletes an element of an owned head that is there.
func (ks *Keys) DeleteElement(h *memtable.Head, name string) {
	ks.Tables.Active.DeleteElement(h, name)
	ks.noteGap(h, name)
}

// DropBelow deletes all elements of an owned head with names below name, without a look at
// them.
func (ks *Keys) DropBelow(h *memtable.Head, name string) {
	ks.Tables.Active.RaiseFloor(h.Inc, name)
}

// gapChance is the probability that the removal of an element looks for a gap around it. It
// is high enough that a walk passes few removed elements wherever they were, and low enough
// that the removal of scattered elements costs little more.
const gapChance = 1. / 8

// noteGap looks sometimes whether an element of an owned head, just removed, is in a gap.
// A read error is left to the operation that needs what is damaged.
func (ks *Keys) noteGap(h *memtable.Head, name string) {
	if ks.Tables.Active.Began(h) || ks.Chance() >= gapChance {
		return // nothing is left of it
	}
	if e, err := ks.Elements(h); err == nil {
		e.LearnAround(name)
	}
}
