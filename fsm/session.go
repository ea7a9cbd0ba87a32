package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// sessions applies the operations on keys of any type, and on sessions.
type sessions struct {
	*keyspace
	ids  ids
	kept int // bytes of the entry that is applied which became payloads of the active memtable
}

// session is Find for an operation on sessions.
func (s *sessions) session(key string) (*memtable.Head, error) {
	h, err := s.Find(key)
	if err != nil {
		return nil, err
	}
	return h, h.CheckType(turn.TypeList)
}

// create makes an empty session.
func (s *sessions) create(key string) (*memtable.Head, error) {
	until, err := s.ids.latestTombstone(key)
	if err != nil {
		return nil, err
	}
	h := s.Begin(key, turn.TypeList)
	h.TombstonesUntil = until
	return h, nil
}

// expected is session for an operation under a condition.
func (s *sessions) expected(key string, expect *uint64) (*memtable.Head, error) {
	h, err := s.session(key)
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
