package raftlog

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Known is what a node knows to be committed.
type Known struct {
	Applied Position // the last entry of the state
	Commit  uint64   // Raft's commit index since the node started
}

// ErrCommittedCut is in the chain of the error for a cut that was refused since entries are known to
// be committed.
var ErrCommittedCut = errors.New("committed entries are not removed")

// contradicted is what to do about a leader that has other entries than those that
// were committed here.
const contradicted = "Nothing was removed. The leader, or a node that voted for it, lost acknowledged writes, for " +
	"example to " +
	"an old copy of its data directory or to damage; this node still has them. Stop writing, and keep a copy of " +
	"this data directory and of the others. To go on without those writes, remove this node from the cluster, and " +
	"add it again with an empty data directory"

// checkCut refuses to remove committed entries from the end of the log, from low on.
//
// What is committed is in the log of every later leader, so a leader that wants such
// an entry replaced proves that acknowledged writes were lost. A state that came with
// a snapshot can be newer than the log: it vouches for the log only if the log has the
// state's last entry, with its term.
func (s *Store) checkCut(low uint64) error {
	k := s.cfg.Known()
	s.mu.Lock()
	floor := s.floor
	s.mu.Unlock()
	committed := k.Commit
	for _, p := range []Position{k.Applied, floor} {
		if holds, err := s.holds(p); err != nil {
			return err
		} else if holds {
			committed = max(committed, p.Index)
		}
	}
	if low > committed {
		return nil
	}
	return fmt.Errorf("%w: the leader has another entry %d, and this node knows that the entries up to %d are "+
		"committed. %s", ErrCommittedCut, low, committed, contradicted)
}

// holds reports whether the log has the entry at a position, with its term.
func (s *Store) holds(p Position) (bool, error) {
	if p.Index < s.engine.FirstIndex() || p.Index > s.engine.LastIndex() || p.Index == 0 {
		return false, nil
	}
	var log raft.Log
	err := s.engine.Get(p.Index, &log)
	return err == nil && log.Term == p.Term, err
}
