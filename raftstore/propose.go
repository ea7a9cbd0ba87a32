package raftstore

import (
	"context"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// propose has the leader, which this node must be, perform an operation of its own.
func (n *Node) propose(ctx context.Context, lt *leaderTerm, op turn.Op) (turn.Result, error) {
	u, wait, err := n.localUnit(op)
	if err != nil {
		return turn.Result{}, err
	}
	if _, f := n.props.offer(u, lt); f != nil {
		return turn.Result{}, f.err
	}
	return wait(ctx)
}

// localUnit makes a unit of an operation of the leader's own, and a function that
// waits for its outcome.
func (n *Node) localUnit(op turn.Op) (*unit, func(context.Context) (turn.Result, error), error) {
	b, needs, err := codec.EncodeOpLevel(op)
	if err != nil {
		return nil, nil, err
	}
	if err := n.levelError(needs); err != nil {
		return nil, nil, err
	}
	type outcome struct {
		r   turn.Result
		err error
	}
	got := make(chan outcome, 1)
	u := &unit{
		commands: []codec.Command{{Origin: n.system.origin, Number: n.system.last.Add(1), Op: b}},
		bytes:    len(b), internal: true,
		done: func(outs []fsm.Outcome, f *failure) {
			switch {
			case f != nil:
				got <- outcome{err: f.err}
			case outs[0].Err != nil:
				got <- outcome{err: outs[0].Err}
			default:
				got <- outcome{r: outs[0].Result}
			}
		},
	}
	return u, func(ctx context.Context) (turn.Result, error) {
		select {
		case o := <-got:
			return o.r, o.err
		case <-ctx.Done():
			return turn.Result{}, ctx.Err()
		}
	}, nil
}
