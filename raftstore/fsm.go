package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
)

// applier is the state machine as Raft sees it. Raft calls it from one goroutine.
type applier struct {
	state *fsm.Machine
	snaps *snapshotStore
	logs  *logStore
	ctx   context.Context // the Node's
	// applied is told of each entry's outcomes, jumped that a snapshot took the
	// place of entries, failed of an error after which nothing may be applied.
	applied func(index, term uint64, outs []fsm.Outcome)
	jumped  func()
	failed  func(error)
}

// ApplyBatch implements raft.BatchingFSM. The response to an entry is its
// []fsm.Outcome.
func (a *applier) ApplyBatch(logs []*raft.Log) []any {
	responses := make([]any, len(logs))
	for i, l := range logs {
		if l.Type != raft.LogCommand {
			a.state.Note(l.Index, l.Term)
			a.applied(l.Index, l.Term, nil)
			continue
		}
		outs := a.state.Apply(l.Index, l.Term, l.Data)
		if err := a.state.Err(); err != nil {
			a.failed(fmt.Errorf("raftstore: apply log entry %d: %w", l.Index, err))
			return responses
		}
		responses[i] = outs
		a.applied(l.Index, l.Term, outs)
	}
	return responses
}

// Apply implements raft.FSM.
func (a *applier) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// Restore implements raft.FSM. The snapshot store knows where the snapshot lies.
func (a *applier) Restore(io.ReadCloser) error {
	err := a.snaps.adopt()
	if err == nil {
		p := a.snaps.position()
		err = a.logs.covered(p.index, p.term)
	}
	if err == nil {
		err = a.logs.markEnd()
	}
	if err != nil {
		a.failed(err)
		return err
	}
	a.jumped()
	return nil
}

// Snapshot implements raft.FSM.
func (a *applier) Snapshot() (raft.FSMSnapshot, error) {
	return flushSnapshot{a}, nil
}

// flushSnapshot is the state as of some entry. To persist it is to flush it.
type flushSnapshot struct{ *applier }

var errForeignSink = errors.New("raftstore: a snapshot can be kept only in the node's own store")

// Persist implements raft.FSMSnapshot.
func (f flushSnapshot) Persist(sink raft.SnapshotSink) error {
	k, ok := sink.(*snapshotSink)
	if !ok {
		return errForeignSink
	}
	if err := f.state.Flush(f.ctx); err != nil {
		return err
	}
	if have, _ := f.state.Durable(); have < k.marker.Index {
		return fmt.Errorf("raftstore: the flushed state ends at log entry %d, the snapshot is to be at %d", have, k.marker.Index)
	}
	k.local()
	return nil
}

// Release implements raft.FSMSnapshot.
func (f flushSnapshot) Release() {}
