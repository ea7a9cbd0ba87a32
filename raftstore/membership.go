package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// change is a membership change as it goes to the leader.
type change struct {
	Remove   bool   `json:"remove,omitempty"`
	Transfer bool   `json:"transfer,omitempty"` // of leadership; no ID
	ID       string `json:"id"`
	Addr     string `json:"addr,omitempty"`
}

// AddNode makes the node id at addr a member: first as a learner, then, when it
// holds the log, as a voter. The node must run, with an empty data directory and
// Config.Join. It may be called on any node, and again if it fails.
func (n *Node) AddNode(ctx context.Context, id, addr string) error {
	if id == "" || len(id) > 64 || addr == "" {
		return turn.Errorf(turn.Invalid, "adding a node needs an id of 1 to 64 bytes and an address")
	}
	return n.change(ctx, change{ID: id, Addr: addr})
}

// RemoveNode ends the membership of a node; it stops by itself if it runs. It may
// be called on any node, and again if it fails.
func (n *Node) RemoveNode(ctx context.Context, id string) error {
	return n.change(ctx, change{Remove: true, ID: id})
}

// moved marks an error of a node that was asked for a change and does not lead, or is about to
// lead no more. Nothing was changed, and the next leader is to be asked.
type moved struct{ error }

func (m moved) Unwrap() error { return m.error }

// change has the leader make a change.
func (n *Node) change(ctx context.Context, c change) error {
	return n.repeat(ctx, c, func() error { return n.changeOnce(ctx, c) })
}

// repeat attempts a change again if its outcome is unknown: a change that took place already
// is not made twice. If leadership moves, the next leader is asked, for as long as others wait for one.
func (n *Node) repeat(ctx context.Context, c change, attempt func() error) error {
	limit := time.Now().Add(n.cfg.Calls.LeaderWait)
	for again := false; ; {
		err := attempt()
		if err == nil {
			return nil
		}
		if errors.As(err, new(moved)) && time.Now().Before(limit) {
			if _, changed := n.lead.leader(); signal.Wait(ctx, changed, 50*time.Millisecond) {
				continue
			}
		}
		if again {
			err = afterUnknown(err)
		}
		switch kind := turn.KindOf(err); {
		case again && (c.Remove && kind == turn.NotFound || !c.Remove && kind == turn.Exists):
			return nil
		case kind != turn.Unknown:
			return err
		}
		again = true
		_, changed := n.lead.leader()
		if !signal.Wait(ctx, changed, 50*time.Millisecond) {
			return err
		}
	}
}

// afterUnknown is what an error means when the outcome of an earlier attempt is not
// known: that this one was refused says nothing about that one.
func afterUnknown(err error) error {
	switch turn.KindOf(err) {
	case turn.Unavailable, turn.Overloaded, turn.Internal:
		return turn.Errorf(turn.Unknown,
			"an earlier attempt may have succeeded; the last one failed: %s; see the cluster's status",
			turn.AsError(err).Message)
	}
	return err
}

func (n *Node) changeOnce(ctx context.Context, c change) error {
	leader, err := n.waitLeader(ctx)
	if err != nil {
		return err
	}
	if leader == n.id {
		return n.changeHere(ctx, c)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	answer, err := n.net.Call(ctx, leader, kindMembers, b)
	if err != nil {
		return turn.Errorf(turn.Unknown, "the leader was asked for the change, but did not answer: %v", err)
	}
	_, f, err := open(answer)
	switch {
	case f != nil && answer[0] == answerNotLeader:
		return moved{f.Err}
	case f != nil:
		return f.Err
	}
	return err
}

// waitLeader returns the leader's id as soon as there is one.
func (n *Node) waitLeader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		leader, changed := n.lead.leader()
		if leader != "" {
			return leader, nil
		}
		if !signal.Wait(ctx, changed, 0) {
			return "", unavailable("no leader within %v", n.cfg.Calls.LeaderWait)
		}
	}
}

func (n *Node) answerMembers(ctx context.Context, payload []byte) ([]byte, error) {
	var c change
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if err := n.changeHere(ctx, c); err != nil {
		if errors.As(err, new(moved)) {
			return []byte{answerNotLeader}, nil
		}
		e := turn.AsError(err)
		return badly(&propose.Failure{Definite: e.Kind != turn.Unknown, Err: e}), nil
	}
	return []byte{answerOK}, nil
}

// changeHere makes a change as the leader. All steps take place in one leader term,
// each on the configuration for which it was decided: see reconfigure.
func (n *Node) changeHere(ctx context.Context, c change) error {
	t := n.writes.proposer.Current()
	if t == nil || !t.Holds() {
		return moved{propose.NotLeader().Err}
	}
	if c.Transfer {
		return n.TransferLeadership(ctx)
	}
	if c.Remove {
		return n.removeHere(ctx, t, c.ID)
	}
	return n.addHere(ctx, t, c)
}

// reconfigure makes one change of the configuration. decide gets the latest configuration,
// and begins a change of it, or returns why there is none to make. Nothing else changes the
// configuration in between: a leader makes one change at a time, and the log store rejects
// a change that Raft would append only in a later term, after another leader's changes.
func (n *Node) reconfigure(ctx context.Context, t *propose.Term,
	decide func(now membership.Configuration) (raft.Future, error)) error {
	if !n.changing.enter(ctx) {
		return unavailable("the configuration was not changed: another change is still in progress (%v)", ctx.Err())
	}
	defer n.changing.leave()
	if err := n.roomForChange(ctx); err != nil {
		return err
	}
	n.logs.ReconfigureIn(t.Number)
	if !t.Holds() {
		return moved{propose.NotLeader().Err}
	}
	begun, err := decide(n.raft.configuration())
	if err != nil {
		return err
	}
	return changed(await(ctx, begun))
}

// spread waits a little until the other nodes have applied an entry, so that a
// member that was removed and comes back with a new directory is not turned away
// by one that lags by a moment.
func (n *Node) spread(ctx context.Context, index uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	others, _ := n.raft.voters()
	for _, id := range others {
		for {
			if st, err := n.statusOf(ctx, id); err != nil || st.Applied >= index {
				break
			}
			if !signal.Wait(ctx, nil, 5*time.Millisecond) {
				return
			}
		}
	}
}

// changed makes a *turn.Error of a configuration change's error.
func changed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return moved{unavailable("the configuration was not changed: %v", err)}
	}
	return turn.Errorf(turn.Unknown,
		"the configuration change was begun, its outcome is unknown: %v; see the cluster's status", err)
}

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
