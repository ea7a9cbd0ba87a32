package raftstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlogger"
	"github.com/turnlog/turnlog/internal/vote"
)

// Run runs the node until ctx ends or the node must stop. When ctx ends, a
// leader hands over, calls in flight are completed, the state is flushed,
// and the error is nil. Otherwise the error says why the node must stop: it has
// stopped taking part at once and flushes nothing, though a disk that hangs may keep
// files open. On return everything is closed but for that.
func (n *Node) Run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- n.run(ctx) }() // outlives Run only if a disk hangs
	select {
	case err := <-done:
		return err
	case <-n.failure.known:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(failTime):
		return andUnkept(n.failure.why, n.keeping.now())
	}
}

// failTime bounds how long a node that failed takes to stop.
const failTime = 2 * time.Second

func (n *Node) run(ctx context.Context) error {
	life, cancel := context.WithCancel(context.Background())
	defer cancel()
	stateLife, endState := context.WithCancelCause(context.Background())
	defer endState(nil)
	var wg, state sync.WaitGroup
	wg.Go(func() {
		if err := n.net.Run(life); err != nil {
			n.fail(err)
		}
	})
	wg.Go(func() {
		if err := n.logs.Run(life); err != nil && life.Err() == nil {
			n.fail(fmt.Errorf("raftstore: the log: %w", err))
		}
	})
	wg.Go(func() {
		if err := n.mark.Run(life); err != nil {
			n.fail(err)
		}
	})
	state.Go(func() {
		if err := n.state.Run(stateLife); err != nil {
			n.fail(fmt.Errorf("raftstore: the state machine: %w", err))
		}
	})

	if err := n.startAside(ctx, life); err != nil && ctx.Err() == nil {
		n.fail(err)
	}
	if n.raft.Load() != nil {
		n.work(life, &wg)
	}
	select {
	case <-ctx.Done():
		n.retire()
	case <-n.failure.known:
	}
	n.stopping.Store(true)
	n.writes.calls.Close(unavailable("the node is stopping"))
	stopped := n.stopRaft()
	cancel() // closes all connections, too
	n.writes.calls.Abandon()
	wg.Wait()
	n.waitRaft(stopped)
	endState(n.reason())
	state.Wait()
	unkept := n.keeping.wait()
	err := n.Close()
	if reason := n.reason(); reason != nil {
		return andUnkept(reason, unkept) // what failed may fail to close as well
	}
	return err
}

// startAside runs start in a goroutine of its own, which a failing disk ends: what has begun by then is
// stopped all the same.
func (n *Node) startAside(ctx, life context.Context) error {
	err := make(chan error, 1)
	go func() {
		defer close(err)
		err <- n.start(ctx, life)
	}()
	return <-err // nil after halt, which has noted why
}

// start brings log, snapshot and state together and starts Raft.
func (n *Node) start(ctx, life context.Context) error {
	if err := n.adopt(); err != nil {
		return err
	}
	snap := n.snaps.Position()
	if snap.Index > 0 {
		if err := n.logs.FitToSnapshot(snap.Index, snap.Term); err != nil {
			return err
		}
	}
	if err := n.checkLog(snap); err != nil {
		return err
	}
	close(n.checked)
	n.trans = newTransport(n)
	if err := n.bootstrap(ctx); err != nil {
		return err
	}
	n.applier = &applier{
		state: n.state, snaps: n.snaps, logs: n.logs, ctx: life,
		adopt: n.adopt, applied: n.applied, jumped: n.jumped, failed: n.fail,
	}
	r, err := raft.NewRaft(n.raftConfig(), n.applier, n.logs, terms{n.stable, n.logs.NewTerm}, n.snaps, n.trans)
	if err != nil {
		return fmt.Errorf("raftstore: start Raft: %w", err)
	}
	if err := n.checkHelp(r); err != nil {
		return errors.Join(err, r.Shutdown().Error())
	}
	// Observers and notification channels can hold up Raft; a filter that
	// leaves a token and takes no observation cannot.
	r.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation, raft.PeerObservation:
			n.signals.roleChanged.Notify()
		}
		return false
	}))
	n.snaps.Follow(r.AppliedIndex)
	// Not before Raft has read its log, which can take longer than the others are asked.
	n.ballot.Ask(n.cfg.Consensus.askTime())
	n.raft.Store(r)
	n.signals.roleChanged.Notify()
	return nil
}

func (n *Node) raftConfig() *raft.Config {
	c, s := raft.DefaultConfig(), &n.cfg.Consensus
	c.LocalID = raft.ServerID(n.id)
	c.HeartbeatTimeout = s.Heartbeat
	c.ElectionTimeout = s.Election
	c.LeaderLeaseTimeout = s.Lease
	c.CommitTimeout = s.Commit
	c.MaxAppendEntries = s.MaxEntries
	c.BatchApplyCh = false
	c.ShutdownOnRemove = false
	c.NoSnapshotRestoreOnStart = true
	c.NoLegacyTelemetry = true
	// The compactor decides when to take a snapshot.
	c.SnapshotThreshold = math.MaxUint64
	c.SnapshotInterval = 24 * time.Hour
	c.Logger = raftlogger.New(n.log)
	return c
}

// work starts the node's own goroutines; they end with life.
func (n *Node) work(life context.Context, wg *sync.WaitGroup) {
	for _, run := range []func(context.Context){
		n.watchRole, n.writes.proposer.Run, n.writes.forwarder.Run, n.reads.Lead, n.reads.Follow,
		n.writes.sweep, n.compact, n.watchDisk, n.space.Run, n.watchMembers, n.watchStart,
		n.detector.Run, n.receive, n.repairer.Run,
	} {
		wg.Go(func() { run(life) })
	}
}

// receive hands Raft the messages of other nodes.
func (n *Node) receive(ctx context.Context) { n.trans.run(ctx, n.log) }

// retire prepares a clean stop: the leader hands over, and calls in flight, local
// ones and other nodes', are seen to their end.
func (n *Node) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Calls.DrainWait)
	defer cancel()
	n.stopping.Store(true)
	n.writes.calls.Close(unavailable("the node is stopping"))
	others, _ := n.raft.voters()
	if leader, _, _ := n.raft.state(); leader && len(others) > 0 {
		if err := n.TransferLeadership(ctx); err != nil {
			n.log.Warn("cannot transfer leadership before stopping", "error", err)
		}
	}
	for ctx.Err() == nil && !n.writes.idle() {
		select {
		case <-ctx.Done():
		case <-n.failure.known:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// stopRaft makes Raft stop; the future tells when it has.
func (n *Node) stopRaft() raft.Future {
	if n.trans != nil {
		_ = n.trans.Close() // it cannot fail
	}
	r := n.raft.Load()
	if r == nil {
		return nil
	}
	return r.Shutdown()
}

// waitRaft waits until nothing of Raft runs any more. The connections are closed
// by then, so that no exchange with another node holds it up; a failing disk may.
func (n *Node) waitRaft(stopped raft.Future) {
	if stopped == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Calls.DrainWait)
	defer cancel()
	if err := await(ctx, stopped); err != nil {
		n.log.Warn("Raft did not stop in time; continuing without it", "error", err)
	}
}

// terms is Raft's stable store. A term begins when the log is settled.
type terms struct {
	*vote.Store
	begin func(term uint64)
}

// SetUint64 implements raft.StableStore.
func (t terms) SetUint64(key []byte, val uint64) error {
	if string(key) == vote.KeyTerm {
		t.begin(val)
	}
	return t.Store.SetUint64(key, val)
}
