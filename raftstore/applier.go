package raftstore

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
)

// applier is the state machine as Raft sees it. Raft calls it from one goroutine.
//
// While the state machine is halted, entries are passed over; resume applies them when
// it goes on.
type applier struct {
	// mu is held while entries are applied. Unless the state machine is halted, it has
	// applied what was handed over.
	mu     sync.Mutex
	handed uint64 // the last entry that Raft has handed over

	state *fsm.Machine
	snaps *snapshot.Store
	logs  *raftlog.Store
	ctx   context.Context // the Node's
	// adopt takes over the snapshot that came.
	// applied is told of each entry's outcomes, jumped that a snapshot took the
	// place of entries, failed of an error after which nothing may be applied.
	adopt   func() error
	applied func(index, term uint64, outs []fsm.Outcome)
	tracing *propose.Tracing // nil: nothing is traced
	jumped  func()
	failed  func(error)
}

// ApplyBatch implements raft.BatchingFSM. The response to an entry is its
// []fsm.Outcome.
func (a *applier) ApplyBatch(logs []*raft.Log) []any {
	responses := make([]any, len(logs))
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, l := range logs {
		a.handed = max(a.handed, l.Index)
		outs, ok := a.apply(l)
		if !ok {
			continue
		}
		responses[i] = outs
	}
	return responses
}

// apply applies an entry; ok is false if the state machine cannot. The caller holds mu.
func (a *applier) apply(l *raft.Log) (outs []fsm.Outcome, ok bool) {
	var begun time.Time
	if a.tracing != nil {
		begun = time.Now()
	}
	if l.Type == raft.LogCommand {
		outs = a.state.Apply(l.Index, l.Term, l.Data)
	} else {
		a.state.Note(l.Index, l.Term)
	}
	if err := a.state.Err(); err != nil {
		a.failed(fmt.Errorf("apply log entry %d: %w", l.Index, err))
		return nil, false
	}
	if _, halted := a.state.Damage(); halted {
		return nil, false
	}
	a.tracing.Applied(begun, outs)
	a.applied(l.Index, l.Term, outs)
	return outs, true
}

// resume has a halted state machine go on, and applies from the log what it has missed. It
// reports whether that succeeded.
func (a *applier) resume() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.state.Resume() {
		return false
	}
	index, _ := a.state.Applied()
	for index++; index <= a.handed; index++ {
		var l raft.Log
		if err := a.logs.Entry(index, &l); err != nil {
			a.failed(fmt.Errorf("read log entry %d to apply it to the repaired state: %w", index, err))
			return false
		}
		if l.Type != raft.LogCommand && l.Type != raft.LogConfiguration {
			continue // Raft does not hand it over, either
		}
		if _, ok := a.apply(&l); !ok {
			return false
		}
	}
	return true
}

// Apply implements raft.FSM.
func (a *applier) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// Restore implements raft.FSM. The snapshot store knows where the snapshot lies.
func (a *applier) Restore(io.ReadCloser) error {
	err := a.adopt()
	p := a.snaps.Position()
	if err == nil {
		err = a.logs.FitToSnapshot(p.Index, p.Term)
	}
	if err == nil {
		err = a.logs.MarkEnd()
	}
	if err != nil {
		a.failed(err)
		return err
	}
	a.mu.Lock()
	a.handed = max(a.handed, p.Index)
	a.mu.Unlock()
	a.resume() // if it was halted, and has a new state now
	a.jumped()
	return nil
}

// Snapshot implements raft.FSM.
func (a *applier) Snapshot() (raft.FSMSnapshot, error) {
	return flushSnapshot{a}, nil
}

// flushSnapshot is the state as of some entry. To persist it is to flush it.
type flushSnapshot struct{ *applier }

// Persist implements raft.FSMSnapshot.
func (f flushSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := f.state.Flush(f.ctx); err != nil {
		return err
	}
	have, _ := f.state.Durable()
	return snapshot.KeepLocal(sink, have)
}

// Release implements raft.FSMSnapshot.
func (f flushSnapshot) Release() {}
