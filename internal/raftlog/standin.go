package raftlog

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/wal"
)

// StandIn is the type of what GetLog returns in place of the entry at the newest snapshot. It is
// none of Raft's, is never stored, and must never be sent: a follower would commit it in place of the
// entry. The transport sends no message that has one in it.
const StandIn raft.LogType = 255

// GetLog implements raft.LogStore.
//
// The entry right at the newest snapshot is always there, if need be without
// its content, as a StandIn: a follower that got a snapshot compares its term with what the
// leader says precedes the first entry after it. The log may have dropped the entry since, also
// while a leader reads the entries of a message one by one, so a StandIn can get into a message.
func (s *Store) GetLog(index uint64, log *raft.Log) error {
	err := s.Entry(index, log)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if index > 1 && index == s.floor.Index {
		*log = raft.Log{Index: index, Term: s.floor.Term, Type: StandIn}
		return nil
	}
	return err
}

// Entry is GetLog for what is in the log. It returns raft.ErrLogNotFound if the entry is not.
func (s *Store) Entry(index uint64, log *raft.Log) error {
	if s.parallel.get(index, log) {
		return nil
	}
	err := s.engine.Get(index, log)
	if err == nil {
		return nil
	}
	if !errors.Is(err, raft.ErrLogNotFound) {
		if corrupt := (*wal.CorruptError)(nil); errors.As(err, &corrupt) {
			err = fmt.Errorf("start the node again: it replaces its log if it can, and says so if not: %w", err)
		}
		s.cfg.Halt(fmt.Errorf("raftlog: read log entry %d: %w", index, err))
	}
	return raft.ErrLogNotFound
}
