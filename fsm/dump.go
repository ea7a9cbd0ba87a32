package fsm

import (
	"cmp"
	"fmt"

	"github.com/turnlog/turnlog/fsm/internal/store"
)

// Dump is a consistent copy of the state to be written out. It must be closed.
type Dump = store.Dump

// Dump returns the state as of the last flush, unless damage to it is known. It delays neither Apply
// nor flushes, but the store cannot reuse space while the Dump is open.
func (m *Machine) Dump() (*Dump, error) {
	d, err := m.dump()
	if err != nil {
		m.damaged(err)
		return nil, fmt.Errorf("dump the state: %w", err)
	}
	return d, nil
}

func (m *Machine) dump() (*Dump, error) {
	m.mu.RLock()
	err := cmp.Or(m.usable(), m.damage)
	var tx *store.Reading
	if err == nil {
		tx, err = m.store.Read()
	}
	m.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	return store.NewDump(tx, m.damaged)
}
