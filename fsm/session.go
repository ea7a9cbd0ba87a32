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

// apply applies an operation. One that it does not know is of a list or another value.
func (s *sessions) apply(op turn.Op, r *turn.Result) error {
	switch o := op.(type) {
	case *turn.Append:
		return s.append(o, r)
	case *turn.Pop:
		return s.pop(o, r)
	case *turn.Trim:
		return s.trim(o, r)
	case *turn.Replace:
		return s.replace(o, r)
	case *turn.Clear:
		return s.clear(o, r)
	case *turn.Delete:
		return s.delete(o, r)
	case *turn.Expire:
		return s.expire(o, r)
	case *turn.Fork:
		return s.fork(o, r)
	case *turn.SetMetadata:
		return s.setMeta(o, r)
	case *turn.Erase:
		return s.erase(o, r)
	case *turn.EditMessage:
		return s.editMessage(o, r)
	case *turn.RemoveMessage:
		return s.removeMessage(o, r)
	}
	return lists{s}.apply(op, r)
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
