package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/turn"
)

func (mc *Changes) addHere(ctx context.Context, t *propose.Term, c requests.Change) error {
	if err := memberIn(mc.cfg.Raft.Configuration(), c); err != nil {
		return err
	}
	if err := mc.join(ctx, t, c); err != nil {
		return err
	}
	if err := mc.untilCaughtUp(ctx, t, c.ID); turn.Is(err, turn.NotFound) {
		return err
	} else if err != nil {
		return turn.Errorf(turn.Unknown, "node %s is a learner, and no voter yet: %v; add it again", c.ID, err)
	}
	err := mc.giveVote(ctx, t, c.ID, c.Addr)
	if err != nil && turn.KindOf(err) == turn.Unavailable {
		return turn.Errorf(turn.Unknown,
			"node %s is a learner, and did not become a voter (%v): add it again", c.ID, err)
	}
	return err
}

// join makes a node a learner, if nodes can be added at all.
func (mc *Changes) join(ctx context.Context, t *propose.Term, c requests.Change) error {
	if mc.cfg.Closed != "" {
		return turn.Errorf(turn.Invalid, "node %s cannot be added: %s", c.ID, mc.cfg.Closed)
	}
	if err := mc.correctAddress(ctx, t); err != nil {
		return err
	}
	if err := mc.addLearner(ctx, t, c); err != nil {
		return err
	}
	mc.cfg.Changed()
	return nil
}

// giveVote makes a learner a voter, unless it was removed or has moved from addr, or has fallen behind since it
// had caught up: other changes may have come first.
func (mc *Changes) giveVote(ctx context.Context, t *propose.Term, id, addr string) error {
	err := mc.Reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(id); !found || s.Addr != addr {
			return nil, turn.Errorf(turn.NotFound, "node %s was removed or moved before it could become a voter", id)
		}
		soon, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := mc.untilCaughtUp(soon, t, id); turn.Is(err, turn.NotFound) {
			return nil, err
		} else if err != nil {
			return nil, unavailable("node %s is not what it was when it had caught up: %v", id, err)
		}
		return mc.cfg.Raft.Load().AddVoter(raft.ServerID(id), raft.ServerAddress(addr), 0, time.Second), nil
	})
	if err == nil {
		mc.Record(ctx, t) // else the leader does so in a moment
	}
	return err
}

// correctAddress has the configuration name the address under which this leader is reached now. A node
// that was alone may have been at another one, or at none: a new member would dial that.
func (mc *Changes) correctAddress(ctx context.Context, t *propose.Term) error {
	self := mc.cfg.Addr
	if s, found := mc.cfg.Raft.Configuration().Find(mc.cfg.Node); !found || s.Addr == self {
		return nil
	}
	return mc.Reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if s, found := now.Find(mc.cfg.Node); !found || !s.Voter {
			return nil, unavailable("the leader is not a voter any more")
		}
		return mc.cfg.Raft.Load().AddVoter(raft.ServerID(mc.cfg.Node), raft.ServerAddress(self), 0, time.Second), nil
	})
}

// memberIn is an error if the node to add is a voter already.
func memberIn(now membership.Configuration, c requests.Change) error {
	switch s, found := now.Find(c.ID); {
	case found && s.Voter && c.Kind == requests.AddLearner:
		return turn.Errorf(turn.Invalid, "node %s is a voter already: a demotion makes it a learner", c.ID)
	case found && s.Voter && s.Addr == c.Addr:
		return turn.Errorf(turn.Exists, "node %s is already a member", c.ID)
	}
	return nil
}

// addLearner makes a node a member without a vote if it is the one that is meant,
// and if the cluster accepts it.
func (mc *Changes) addLearner(ctx context.Context, t *propose.Term, c requests.Change) error {
	if !mc.cfg.Joining.Enter(ctx) {
		return unavailable("another node is being added, or the cluster's level raised: %v", ctx.Err())
	}
	defer mc.cfg.Joining.Leave()
	facts, err := mc.cfg.Peers.Net.Probe(ctx, c.Addr)
	if err != nil {
		return unavailable("node %s at %s did not answer as expected: %v", c.ID, c.Addr, err)
	}
	if facts.NodeID != c.ID {
		return turn.Errorf(turn.Invalid, "at %s there is node %s, not node %s", c.Addr, facts.NodeID, c.ID)
	}
	return mc.Reconfigure(ctx, t, func(now membership.Configuration) (raft.Future, error) {
		if err := memberIn(now, c); err != nil {
			return nil, err
		}
		if _, found := now.Find(c.ID); !found && facts.Recorded {
			return nil, turn.Errorf(turn.Invalid, "node %s at %s has the data of an earlier membership, and may stop "+
				"when it hears that this is over: start it with an empty data directory, then add it", c.ID, c.Addr)
		}
		return mc.cfg.Raft.Load().AddNonvoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second), nil
	})
}

// near is how many log entries a node may lack that has nearly all.
const near = 64

// untilCaughtUp waits until a learner is recorded as a member, so that its incarnation is known before it may
// vote, and has applied nearly all.
//
// One that has not answered for as long as a change waits for a leader is not waited for, nor one that is removed.
func (mc *Changes) untilCaughtUp(ctx context.Context, t *propose.Term, id string) error {
	for heard := time.Now(); ; {
		if _, found := mc.cfg.Raft.Configuration().Find(id); !found {
			return turn.Errorf(turn.NotFound, "node %s was removed before it had caught up", id)
		}
		st, err := mc.cfg.Status(ctx, id)
		silent := err
		if err == nil && mc.cfg.Data.Recorded(id) == "" {
			_, err = mc.cfg.Propose(ctx, t, &codec.Member{ID: id, Incarnation: st.Incarnation,
				RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr, Learner: mc.tellsLearners()})
		}
		if applied, _ := mc.cfg.Data.State.Applied(); err == nil && mc.cfg.Data.Recorded(id) == st.Incarnation &&
			st.Applied+near >= applied {
			return nil
		}
		if !t.Holds() || t.Ended() {
			return errTermEnded
		}
		if silent == nil {
			heard = time.Now()
		} else if time.Since(heard) > mc.cfg.LeaderWait {
			return fmt.Errorf("it has not answered for %v (%w)", mc.cfg.LeaderWait, silent)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has not caught up (%w)", cmp.Or(err, ctx.Err()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

var errTermEnded = errors.New("leadership changed")
