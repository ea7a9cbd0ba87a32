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

func (mc *memberChanges) addHere(ctx context.Context, t *propose.Term, c change) error {
	if err := memberIn(mc.node.raft.configuration(), c); err != nil {
		return err
	}
	if mc.node.cfg.Peers.Closed != "" {
		return turn.Errorf(turn.Invalid, "node %s cannot be added: %s", c.ID, mc.node.cfg.Peers.Closed)
	}
	if err := mc.correctAddress(ctx, t); err != nil {
		return err
	}
	if err := mc.addLearner(ctx, t, c); err != nil {
		return err
	}
	mc.node.signals.roleChanged.Notify()
	if err := mc.untilCaughtUp(ctx, t, c.ID); err != nil {
		return err
	}
	err := mc.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(c.ID); !found || s.Addr != c.Addr {
			return nil, turn.Errorf(turn.NotFound, "node %s was removed or moved before it could become a voter", c.ID)
		}
		return mc.node.raft.Load().AddVoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second), nil
	})
	if err != nil && turn.KindOf(err) == turn.Unavailable {
		return turn.Errorf(turn.Unknown,
			"node %s is a learner, and did not become a voter (%v): add it again", c.ID, err)
	}
	return err
}

// correctAddress has the configuration name the address under which this leader is reached now. A node
// that was alone may have been at another one, or at none: a new member would dial that.
func (mc *memberChanges) correctAddress(ctx context.Context, t *propose.Term) error {
	self := mc.node.cfg.Peers.Advertise
	if s, found := mc.node.raft.configuration().Find(mc.node.id); !found || s.Addr == self {
		return nil
	}
	return mc.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(mc.node.id); !found || !s.Voter {
			return nil, turn.Errorf(turn.Unavailable, "the leader is not a voter any more")
		}
		return mc.node.raft.Load().AddVoter(raft.ServerID(mc.node.id), raft.ServerAddress(self), 0, time.Second), nil
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
func (mc *memberChanges) addLearner(ctx context.Context, t *propose.Term, c change) error {
	if !mc.levelGate.enter(ctx) {
		return unavailable("another node is being added, or the cluster's level raised: %v", ctx.Err())
	}
	defer mc.levelGate.leave()
	facts, err := mc.node.net.Probe(ctx, c.Addr)
	if err != nil {
		return unavailable("node %s at %s did not answer as expected: %v", c.ID, c.Addr, err)
	}
	if facts.NodeID != c.ID {
		return turn.Errorf(turn.Invalid, "at %s there is node %s, not node %s", c.Addr, facts.NodeID, c.ID)
	}
	return mc.reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if err := memberIn(now, c); err != nil {
			return nil, err
		}
		return mc.node.raft.Load().AddNonvoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second), nil
	})
}

// untilCaughtUp waits until a learner is recorded as a member, so that its
// incarnation is known before it may vote, and has applied nearly all.
func (mc *memberChanges) untilCaughtUp(ctx context.Context, t *propose.Term, id string) error {
	const near = 64 // entries
	for {
		st, err := mc.node.statusOf(ctx, id)
		if err == nil && mc.node.recorded(id) == "" {
			_, err = mc.node.propose(ctx, t,
				&codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr})
		}
		if applied, _ := mc.node.state.Applied(); err == nil && mc.node.recorded(id) == st.Incarnation &&
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
