package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
)

// elements returns a key's elements, store included. Only for use in Apply.
func (m *Machine) elements(h *memtable.Head) (memtable.Elements, error) {
	e, whole := m.tables.Elements(h.Inc)
	e.LearnFor(h)
	if whole {
		return e, nil
	}
	var err error
	e.Tx, err = m.storeTx()
	return e, err
}

// PutElement gives an element of an owned head a value, which is not written to again.
func (m *Machine) putElement(h *memtable.Head, name string, value []byte) {
	m.tables.Active.PutElement(h, name, value)
}

// DeleteElement deletes an element of an owned head that is there.
func (m *Machine) deleteElement(h *memtable.Head, name string) {
	m.tables.Active.DeleteElement(h, name)
	m.noteGap(h, name)
}

// dropBelow deletes all elements of an owned head with names below name, without a look at
// them.
func (m *Machine) dropBelow(h *memtable.Head, name string) { m.tables.Active.RaiseFloor(h.Inc, name) }

// gapChance is the probability that the removal of an element looks for a gap around it. It
// is high enough that a walk passes few removed elements wherever they were, and low enough
// that the removal of scattered elements costs little more.
const gapChance = 1. / 8

// noteGap looks sometimes whether an element of an owned head, just removed, is in a gap.
// A read error is left to the operation that needs what is damaged.
func (m *Machine) noteGap(h *memtable.Head, name string) {
	if m.tables.Active.Began(h) || m.cfg.Rand() >= gapChance {
		return // nothing is left of it
	}
	if e, err := m.elements(h); err == nil {
		e.LearnAround(name)
	}
}
