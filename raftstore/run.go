package raftstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/ballot"
	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/raftlogger"
	"github.com/turnlog/turnlog/internal/vote"
)

// Run runs the node until ctx ends or the node must stop. When ctx ends, a leader transfers leadership,
// calls in flight are completed, the state is flushed, and the error is nil. Otherwise, the error says
// why the node had to stop: it takes part no longer, and flushes nothing. When Run returns, everything
// is closed, except for files that a hanging disk keeps open.
func (n *Node) Run(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- n.run(ctx) }() // outlives Run only if a disk hangs
	select {
	case err := <-done:
		return err
	case <-n.failure.Known():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(failTime):
		return errors.Join(n.failure.Reason(), n.data.UnkeptNow())
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
			n.failure.Fail(err)
		}
	})
	wg.Go(func() {
		if err := n.data.Log.Run(life); err != nil && life.Err() == nil {
			n.failure.Fail(fmt.Errorf("the log: %w", err))
		}
	})
	wg.Go(func() {
		if err := n.data.Mark.Run(life); err != nil {
			n.failure.Fail(err)
		}
	})
	state.Go(func() {
		if err := n.data.State.Run(stateLife); err != nil {
			n.failure.Fail(fmt.Errorf("the state machine: %w", err))
		}
	})

	if err := n.startAside(ctx, life); err != nil && ctx.Err() == nil {
		n.failure.Fail(err)
	}
	if n.raft.Load() != nil {
		n.work(life, &wg)
	}
	select {
	case <-ctx.Done():
		n.retire()
	case <-n.failure.Known():
	}
	n.stopping.Store(true)
	n.writes.calls.Close(unavailable("the node is stopping"))
	stopped := n.stopRaft()
	cancel() // closes all connections, too
	n.writes.calls.Abandon()
	wg.Wait()
	n.waitRaft(stopped)
	endState(n.failure.Reason())
	state.Wait()
	unkept := n.data.Unkept()
	err := n.Close()
	if reason := n.failure.Reason(); reason != nil {
		return errors.Join(reason, unkept) // what failed may fail to close as well
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
	if err := n.data.Settle(); err != nil {
		return err
	}
	close(n.checked)
	n.trans = newTransport(n)
	if err := n.bootstrap(ctx); err != nil {
		return err
	}
	n.applier = &applier{
		state: n.data.State, snaps: n.data.Snapshots, logs: n.data.Log, ctx: life,
		adopt: n.data.Adopt, applied: n.applied, jumped: n.jumped, failed: n.failure.Fail,
		tracing: n.writes.tracing,
	}
	r, err := raft.NewRaft(n.raftConfig(), n.applier, n.data.Log,
		n.terms(), n.data.Snapshots, n.trans)
	if err != nil {
		return fmt.Errorf("start Raft: %w", err)
	}
	servers := r.GetConfiguration().Configuration().Servers
	if err := n.data.CheckHelp(servers); err != nil {
		return errors.Join(err, r.Shutdown().Error())
	}
	n.data.NoteAlone(servers)
	// Observers and notification channels can hold up Raft; a filter that
	// leaves a token and takes no observation cannot.
	r.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation, raft.PeerObservation:
			n.signals.roleChanged.Notify()
		}
		return false
	}))
	n.data.Snapshots.Follow(r.AppliedIndex)
	n.raft.Store(r)
	if err := n.recheck(); err != nil {
		return err
	}
	// Not before Raft has read its log, which can take longer than the others are asked.
	n.ballot.Ask(n.cfg.Consensus.askTime())
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
		n.detector.Run, n.receive, n.repairer.Run, n.preferLeader,
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
	others, _ := n.raft.Voters()
	if leader, _, _ := n.raft.State(); leader && len(others) > 0 {
		if err := n.TransferLeadership(ctx); err != nil {
			n.log.Warn("cannot transfer leadership before stopping", "error", err)
		}
	}
	for ctx.Err() == nil && !n.writes.idle() {
		select {
		case <-ctx.Done():
		case <-n.failure.Known():
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
	if err := group.Await(ctx, stopped); err != nil {
		n.log.Warn("Raft did not stop in time; continuing without it", "error", err)
	}
}

// terms is Raft's stable store. A term begins when the log is settled, and this node votes for itself only where it
// may stand for election: the only voter asks no other node.
type terms struct {
	*vote.Store
	begin  func(term uint64)
	self   []byte // the candidate of its own vote
	ballot *ballot.Ballot
}

func (n *Node) terms() terms {
	self := n.trans.EncodePeer(raft.ServerID(n.id), n.trans.LocalAddr())
	return terms{n.data.Vote, n.data.Log.NewTerm, self, n.ballot}
}

// SetUint64 implements raft.StableStore.
func (t terms) SetUint64(key []byte, val uint64) error {
	if string(key) == vote.KeyTerm {
		t.begin(val)
	}
	return t.Store.SetUint64(key, val)
}

// Set implements raft.StableStore. Raft gives up an election in which it cannot vote for itself.
func (t terms) Set(key, val []byte) error {
	if string(key) == vote.KeyVote && bytes.Equal(val, t.self) {
		term, err := t.GetUint64([]byte(vote.KeyVoteTerm))
		if err = errors.Join(err, t.ballot.Stands(), t.ballot.Elects(term)); err != nil {
			return err
		}
	}
	return t.Store.Set(key, val)
}
