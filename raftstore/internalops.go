package raftstore

import (
	"context"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
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
