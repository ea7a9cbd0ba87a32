package raftstore

import (
	"context"
	"errors"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// propose has the leader, which this node must be, perform an operation of its own.
func (n *Node) propose(ctx context.Context, t *propose.Term, op turn.Op) (turn.Result, error) {
	b, wait, err := n.internalBatch(op)
	if err != nil {
		return turn.Result{}, err
	}
	if _, f := n.writes.proposer.Offer(b, t); f != nil {
		return turn.Result{}, f.Err
	}
	return wait(ctx)
}

// internalBatch makes a batch of an operation of the leader's own, and a function that
// waits for its outcome.
func (n *Node) internalBatch(op turn.Op) (*propose.Batch, func(context.Context) (turn.Result, error), error) {
	b, needs, err := codec.EncodeOpLevel(op)
	if err != nil {
		return nil, nil, err
	}
	if err := n.levelError(needs); err != nil {
		return nil, nil, err
	}
	batch, wait := n.writes.proposer.Internal(b)
	return batch, wait, nil
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
