package raftlog

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/raft"
)

// CheckSame returns an error, with advice, if this log has other entries than those that a leader
// sends, with the same index and term.
//
// A term has one leader, so that cannot be, unless a node voted twice in it: an older copy of
// its directory forgot the vote. Raft compares terms alone, and would take what is here for
// what the leader has: the states would differ from there on, and nothing would show it. So the node must stop.
func (s *Store) CheckSame(sent []*raft.Log) error {
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	for _, theirs := range sent {
		if theirs.Index == 1 && theirs.Type == raft.LogConfiguration {
			continue // each member makes it by itself, perhaps with other addresses
		}
		if theirs.Index > last {
			return nil
		}
		var mine raft.Log
		if !s.parallel.get(theirs.Index, &mine) && s.engine.Get(theirs.Index, &mine) != nil {
			continue // dropped meanwhile, or damaged: Raft will find that
		}
		if mine.Term == theirs.Term && (mine.Type != theirs.Type || !bytes.Equal(mine.Data, theirs.Data)) {
			return fmt.Errorf("two nodes led in term %d: the leader has another entry %d than this node. %s", mine.Term,
				mine.Index, contradicted)
		}
	}
	return nil
}
