package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// session is Find for an operation on sessions.
func (m *Machine) session(key string) (*memtable.Head, error) {
	h, err := m.keys.Find(key)
	if err != nil {
		return nil, err
	}
	return h, h.CheckType(turn.TypeList)
}

// create makes an empty session.
func (m *Machine) create(key string) (*memtable.Head, error) {
	until, err := m.latestTombstone(key)
	if err != nil {
		return nil, err
	}
	h := m.keys.Begin(key, turn.TypeList)
	h.TombstonesUntil = until
	return h, nil
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
