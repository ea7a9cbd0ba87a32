package sessions

import (
	"github.com/turnlog/turnlog/fsm/internal/keyspace"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/messageids"
	"github.com/turnlog/turnlog/turn"
)

// Operations are the operations on keys of any type, and on sessions. They are applied to the keys by one
// goroutine at a time, which holds the lock of the state.
type Operations struct {
	*keyspace.Keys
	IDs  *messageids.IDs
	kept int // bytes of the entry that is applied which became payloads of the active memtable
	// calls are what its payloads have, and others that were looked at.
	calls Calls
}

// New returns the operations on keys. The windows of ids take so many bytes at most.
func New(keys *keyspace.Keys, windowBytes int) *Operations {
	return &Operations{Keys: keys, IDs: messageids.New(keys, windowBytes)}
}

// BeginEntry begins an entry with its stamp, whose payloads have calls.
func (s *Operations) BeginEntry(stamp int64, calls Calls) error {
	s.kept, s.calls = 0, calls
	return s.Keys.BeginEntry(stamp)
}

// EndEntry ends an entry of so many bytes. It counts what the active memtable holds of it beyond the
// payloads that it kept, which keep all of the entry. What comes with any payload, as ids
// do, is in what a record costs.
func (s *Operations) EndEntry(size int) {
	s.IDs.Windows.Shrink()
	s.calls = nil
	if rest := size - s.kept; s.kept > 0 && rest > s.kept+layout.BlockBytes {
		s.Tables.Active.Count(rest)
	}
}

// session is Find for an operation on sessions.
func (s *Operations) session(key string) (*memtable.Head, error) {
	h, err := s.Find(key)
	if err != nil {
		return nil, err
	}
	return h, h.CheckType(turn.TypeList)
}

// create makes an empty session.
func (s *Operations) create(key string) (*memtable.Head, error) {
	until, err := s.IDs.DeletedUntil(key)
	if err != nil {
		return nil, err
	}
	h := s.Begin(key, turn.TypeList)
	h.TombstonesUntil = until
	return h, nil
}

// expected is session for an operation under a condition.
func (s *Operations) expected(key string, expect *uint64) (*memtable.Head, error) {
	h, err := s.session(key)
	if err != nil {
		return nil, err
	}
	return h, CheckExpect(expect, h)
}

// CheckExpect holds a condition against the session's revision.
func CheckExpect(expect *uint64, h *memtable.Head) error {
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

// conflictAt returns a Conflict at the revision of a session, nil if there is none.
func conflictAt(h *memtable.Head, format string, args ...any) error {
	e := turn.Errorf(turn.Conflict, format, args...)
	if h != nil {
		e.Revision = h.Revision
	}
	return e
}

// findFirst sets the seq of the oldest message that an owned head has left.
func (s *Operations) findFirst(h *memtable.Head) error {
	v, err := s.View(h)
	if err != nil {
		return err
	}
	found := false
	if err := v.Oldest(memtable.AnySide, h.First, func(r *layout.Record) bool {
		h.First, found = r.Seq, true
		return false
	}); err != nil {
		return err
	}
	if !found {
		return layout.HeadCountsMore(h.Inc)
	}
	return nil
}
