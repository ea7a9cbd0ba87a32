package raftstore

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

func (n *Node) addHere(ctx context.Context, t *propose.Term, c change) error {
	if err := memberIn(n.raft.configuration(), c); err != nil {
		return err
	}
	if n.cfg.Peers.Closed != "" {
		return turn.Errorf(turn.Invalid, "node %s cannot be added: %s", c.ID, n.cfg.Peers.Closed)
	}
	if err := n.correctAddress(ctx, t); err != nil {
		return err
	}
	if err := n.addLearner(ctx, t, c); err != nil {
		return err
	}
	n.signals.roleChanged.Notify()
	if err := n.untilCaughtUp(ctx, t, c.ID); err != nil {
		return err
	}
	err := n.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(c.ID); !found || s.Addr != c.Addr {
			return nil, turn.Errorf(turn.NotFound, "node %s was removed or moved before it could become a voter", c.ID)
		}
		return n.raft.Load().AddVoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second), nil
	})
	if err != nil && turn.KindOf(err) == turn.Unavailable {
		return turn.Errorf(turn.Unknown,
			"node %s is a learner, and did not become a voter (%v): add it again", c.ID, err)
	}
	return err
}

// correctAddress has the configuration name the address under which this leader is reached now. A node
// that was alone may have been at another one, or at none: a new member would dial that.
func (n *Node) correctAddress(ctx context.Context, t *propose.Term) error {
	self := n.cfg.Peers.Advertise
	if s, found := n.raft.configuration().Find(n.id); !found || s.Addr == self {
		return nil
	}
	return n.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(n.id); !found || !s.Voter {
			return nil, turn.Errorf(turn.Unavailable, "the leader is not a voter any more")
		}
		return n.raft.Load().AddVoter(raft.ServerID(n.id), raft.ServerAddress(self), 0, time.Second), nil
	})
}

// memberIn is an error if the node to add is a voter already.
func memberIn(now membership.Configuration, c change) error {
	if s, found := now.Find(c.ID); found && s.Voter && s.Addr == c.Addr {
		return turn.Errorf(turn.Exists, "node %s is already a member", c.ID)
	}
	return nil
}

// addLearner makes a node a member without a vote if it is the one that is meant,
// and if the cluster has to do with it.
func (n *Node) addLearner(ctx context.Context, t *propose.Term, c change) error {
	if !n.levelGate.enter(ctx) {
		return unavailable("another node is being added, or the cluster's level raised: %v", ctx.Err())
	}
	defer n.levelGate.leave()
	facts, err := n.net.Probe(ctx, c.Addr)
	if err != nil {
		return unavailable("node %s at %s did not answer as expected: %v", c.ID, c.Addr, err)
	}
	if facts.NodeID != c.ID {
		return turn.Errorf(turn.Invalid, "at %s there is node %s, not node %s", c.Addr, facts.NodeID, c.ID)
	}
	return n.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if err := memberIn(now, c); err != nil {
			return nil, err
		}
		return n.raft.Load().AddNonvoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second), nil
	})
}

// untilCaughtUp waits until a learner is recorded as a member, so that its
// incarnation is known before it may vote, and has applied nearly all.
func (n *Node) untilCaughtUp(ctx context.Context, t *propose.Term, id string) error {
	const near = 64 // entries
	for {
		st, err := n.statusOf(ctx, id)
		if err == nil && n.recorded(id) == "" {
			_, err = n.propose(ctx, t,
				&codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr})
		}
		if applied, _ := n.state.Applied(); err == nil && n.recorded(id) == st.Incarnation &&
			st.Applied+near >= applied {
			return nil
		}
		if !t.Holds() || t.Ended() {
			return turn.Errorf(turn.Unknown,
				"node %s is a learner; leadership changed before it could become a voter: add it again", id)
		}
		select {
		case <-ctx.Done():
			return turn.Errorf(turn.Unknown,
				"node %s is a learner and has not caught up yet (%v): add it again to make it a voter", id, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
