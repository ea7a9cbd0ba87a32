package raftstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/levels"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

// writes is what brings a node's operations into the log: see package propose.
type writes struct {
	calls     *propose.Calls
	proposer  *propose.Proposer
	forwarder *propose.Forwarder
	inbox     *propose.Inbox
	levels    *levels.Levels
	tracing   *propose.Tracing
}

// newWrites needs the connections to other nodes, and what tells of the space on the disks.
func (n *Node) newWrites() *writes {
	w, bounds := &writes{levels: n.levels, tracing: propose.NewTracing(n.cfg.Tracer)}, n.cfg.Calls.bounds()
	w.calls = propose.NewCalls(bounds, rand.Uint64()|1, n.cfg.Clock.Now, w.wake)
	w.calls.TraceBy(w.tracing)
	w.proposer = propose.NewProposer(bounds, w.calls, n.space, rand.Uint64()|1)
	w.forwarder = propose.NewForwarder(bounds, w.calls, forwarding{n.peers, n.lead, &n.raft}, n.space)
	w.inbox = propose.NewInbox(w.proposer, n.levels.Vet)
	return w
}

// wake has what takes calls look whether some wait.
func (w *writes) wake() {
	w.proposer.Wake()
	w.forwarder.Wake()
}

// idle reports whether no call and no batch is left.
func (w *writes) idle() bool { return w.calls.Unresolved() == 0 && w.proposer.Idle() }

// sweep ends calls whose time is over.
func (w *writes) sweep(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.calls.Sweep()
		}
	}
}

// propose has the leader, which this node must be, perform an operation of its own.
func (w *writes) propose(ctx context.Context, t *propose.Term, op turn.Op) (turn.Result, error) {
	b, wait, err := w.internalBatch(op)
	if err != nil {
		return turn.Result{}, err
	}
	if _, f := w.proposer.Offer(b, t); f != nil {
		return turn.Result{}, f.Err
	}
	return wait(ctx)
}

// proposeIn is propose for a term, of which only the error counts.
func (w *writes) proposeIn(t *propose.Term) func(context.Context, turn.Op) error {
	return func(ctx context.Context, op turn.Op) error {
		_, err := w.propose(ctx, t, op)
		return err
	}
}

// internalBatch makes a batch of an operation of the leader's own, and a function that
// waits for its outcome.
func (w *writes) internalBatch(op turn.Op) (*propose.Batch, func(context.Context) (turn.Result, error), error) {
	b, needs, err := codec.EncodeOpLevel(op)
	if err != nil {
		return nil, nil, err
	}
	if err := w.levels.Check(needs); err != nil {
		return nil, nil, err
	}
	batch, wait := w.proposer.Internal(b)
	return batch, wait, nil
}

// Submit starts an operation and returns at once, unless the operation needs a higher level than
// the one that this node has applied: then it asks the leader first. Operations
// submitted one after the other take place in that order, if they take place.
func (n *Node) Submit(ctx context.Context, op turn.Op) *propose.Call {
	if err := op.Validate(n.cfg.Limits); err != nil {
		return n.writes.calls.Failed(turn.AsError(err))
	}
	if err := levels.Proposable(op); err != nil {
		return n.writes.calls.Failed(err)
	}
	b, needs, err := codec.EncodeOpLevel(op)
	if err != nil {
		return n.writes.calls.Failed(turn.AsError(err))
	}
	if err := n.levels.Await(ctx, needs); err != nil {
		return n.writes.calls.Failed(err)
	}
	if why := n.space.Rejects(op); why != nil {
		return n.writes.calls.Failed(why)
	}
	if err := ctx.Err(); err != nil {
		return n.writes.calls.Failed(unavailable("the context ended before the operation began: %v", err))
	}
	return n.writes.calls.Submit(ctx, b, fsm.Weight(op))
}

// Apply performs an operation: see Submit and Call.Wait.
func (n *Node) Apply(ctx context.Context, op turn.Op) (turn.Result, error) {
	return n.Submit(ctx, op).Wait()
}

// leaderLog is Raft's log as its leader writes to it. It implements propose.Log.
type leaderLog struct{ raft *raft.Raft }

func (l leaderLog) Leads(term uint64) bool {
	return l.raft.State() == raft.Leader && l.raft.CurrentTerm() == term
}

func (l leaderLog) Propose(term uint64, entry []byte) (outcome func() ([]fsm.Outcome, *propose.Failure)) {
	// Without a timeout: Raft's main loop takes it, or Raft is shut down. What
	// waits for the outcome has deadlines of its own.
	future := l.raft.ApplyLog(raftlog.NewProposal(term, entry), 0)
	return func() ([]fsm.Outcome, *propose.Failure) {
		if err := future.Error(); err != nil {
			return nil, classify(err)
		}
		outs, _ := future.Response().([]fsm.Outcome)
		return outs, nil
	}
}

// classify tells what an error of raft.Apply means for the entry. Anything that
// is not known to have been refused may be in a log, and be committed later.
func classify(err error) *propose.Failure {
	switch {
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrAbortedByRestore),
		errors.Is(err, raftlog.ErrOtherTerm):
		return propose.NotLeader()
	}
	return &propose.Failure{Err: turn.Errorf(turn.Unknown,
		"the leader lost leadership before the outcome was known: %v", err)}
}

// forwarding implements propose.Peers.
type forwarding struct {
	requests.Client
	lead *group.KnownLeader
	raft *group.Group
}

func (f forwarding) Leader() (id string, term uint64, changed <-chan struct{}) {
	id, changed = f.lead.Leader()
	if id == f.lead.Self {
		id = ""
	}
	_, term, _ = f.raft.State()
	return id, term, changed
}
