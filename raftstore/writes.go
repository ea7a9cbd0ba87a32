package raftstore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// writes is what brings a node's operations into the log: see package propose.
type writes struct {
	calls     *propose.Calls
	proposer  *propose.Proposer
	forwarder *propose.Forwarder
	inbox     *propose.Inbox
}

// newWrites needs the connections to other nodes, and what tells of the space on the disks.
func (n *Node) newWrites() *writes {
	w, bounds := &writes{}, n.cfg.Calls.bounds()
	w.calls = propose.NewCalls(bounds, rand.Uint64()|1, n.cfg.Clock.Now, w.wake)
	w.proposer = propose.NewProposer(bounds, w.calls, n.space, rand.Uint64()|1)
	w.forwarder = propose.NewForwarder(bounds, w.calls, forwarding{n.lead, n.net}, n.space)
	w.inbox = propose.NewInbox(w.proposer, n.vet)
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

// Submit starts an operation and returns at once. Operations submitted one after
// the other take place in that order, if they take place.
func (n *Node) Submit(ctx context.Context, op turn.Op) *propose.Call {
	if err := op.Validate(n.cfg.Limits); err != nil {
		return n.writes.calls.Failed(turn.AsError(err))
	}
	if err := proposable(op); err != nil {
		return n.writes.calls.Failed(err)
	}
	b, needs, err := codec.EncodeOpLevel(op)
	if err != nil {
		return n.writes.calls.Failed(turn.AsError(err))
	}
	if err := n.levelError(needs); err != nil {
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
