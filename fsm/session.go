package fsm

import (
	"fmt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// storeTx returns the transaction that reads the store while mu is held.
func (m *Machine) storeTx() (*store.Reading, error) {
	if m.tx == nil {
		tx, err := m.store.Read()
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		m.tx = tx
	}
	return m.tx, nil
}

func (m *Machine) closeTx() {
	if m.tx != nil {
		m.tx.End()
		m.tx = nil
	}
}

// stored returns the head of a key, expired or not, nil if there is none. Only
// for use in Apply.
func (m *Machine) stored(key string) (*memtable.Head, error) {
	if h, known := m.tables.Head(key); known {
		return h, nil
	}
	tx, err := m.storeTx()
	if err != nil {
		return nil, err
	}
	return memtable.StoredHead(tx, key)
}

// find returns the head of an existing key, whatever its type, nil if there is
// none. One whose time has come is deleted now, whether or not its turn in the
// due index has come. Only for use in Apply.
func (m *Machine) find(key string) (*memtable.Head, error) {
	h, err := m.stored(key)
	if h != nil && h.Expired(m.meta.Clock) {
		m.remove(key, h)
		return nil, nil
	}
	return h, err
}

// session is find for an operation on sessions.
func (m *Machine) session(key string) (*memtable.Head, error) {
	h, err := m.find(key)
	if err != nil {
		return nil, err
	}
	return h, checkType(h, turn.TypeList)
}

// checkType holds an operation on a type against what a key holds.
func checkType(h *memtable.Head, want turn.Type) error {
	if h == nil || h.Type == want {
		return nil
	}
	return turn.Errorf(turn.WrongType, "the key holds a %s, not a %s", h.Type, want)
}

// own returns the head as part of the active memtable, to be changed.
func (m *Machine) own(key string, h *memtable.Head) *memtable.Head {
	return m.tables.Own(key, h)
}

// changed gives a changed session its new revision.
func (m *Machine) changed(key string, h *memtable.Head) {
	h.Revision, h.Updated = m.advance(key), m.meta.Clock
	m.watches.notify(key)
}

// create makes an empty session.
func (m *Machine) create(key string) (*memtable.Head, error) {
	until, err := m.latestTombstone(key)
	if err != nil {
		return nil, err
	}
	h := m.begin(key, turn.TypeList)
	h.TombstonesUntil = until
	return h, nil
}

// begin makes a value without elements under a key that holds nothing.
func (m *Machine) begin(key string, typ turn.Type) *memtable.Head {
	m.meta.LastInc++
	h := &memtable.Head{Head: layout.Head{Inc: m.meta.LastInc, Type: typ, Created: m.meta.Clock}}
	m.tables.Active.Begin(key, h)
	m.keyGaps.Cut(key)
	return h
}

// expected is session for an operation under a condition.
func (m *Machine) expected(key string, expect *uint64) (*memtable.Head, error) {
	h, err := m.session(key)
	if err != nil {
		return nil, err
	}
	return h, checkExpect(expect, h)
}

// checkExpect holds a condition against the session's revision.
func checkExpect(expect *uint64, h *memtable.Head) error {
	if expect == nil {
		return nil
	}
	current := uint64(0)
	if h != nil {
		current = h.Revision
	}
	if *expect == current {
		return nil
	}
	e := turn.Errorf(turn.Conflict, "the session's revision is %d, not %d", current, *expect)
	switch {
	case current == 0:
		e = turn.Errorf(turn.Conflict, "the session does not exist, its expected revision was %d", *expect)
	case *expect == 0:
		e = turn.Errorf(turn.Conflict, "the session exists, its revision is %d", current)
	}
	e.Revision = current
	return e
}

// view returns a session's messages, store included. Only for use in Apply.
func (m *Machine) view(h *memtable.Head) (memtable.View, error) {
	v := m.tables.View(h, nil)
	v.LearnFor(h)
	if v.Complete() {
		return v, nil
	}
	tx, err := m.storeTx()
	v.Tx = tx
	return v, err
}
