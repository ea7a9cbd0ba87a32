package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/codec"
	"github.com/turnlog/turnlog/turn"
)

// change is a membership change as it goes to the leader.
type change struct {
	Remove bool   `json:"remove,omitempty"`
	ID     string `json:"id"`
	Addr   string `json:"addr,omitempty"`
}

// AddNode makes the node id at addr a member: first as a learner, then, when it
// holds the log, as a voter. The node must run, with an empty data directory and
// Config.Join. It may be called on any node, and again if it fails.
func (n *Node) AddNode(ctx context.Context, id, addr string) error {
	if id == "" || len(id) > 64 || addr == "" {
		return turn.Errorf(turn.Invalid, "a node to add needs an id of 1 to 64 bytes and an address")
	}
	return n.change(ctx, change{ID: id, Addr: addr})
}

// RemoveNode ends the membership of a node; it stops by itself if it runs. It may
// be called on any node, and again if it fails.
func (n *Node) RemoveNode(ctx context.Context, id string) error {
	return n.change(ctx, change{Remove: true, ID: id})
}

// change has the leader make a change, again if its outcome is unknown: a change
// that took place already is not made twice.
func (n *Node) change(ctx context.Context, c change) error {
	for again := false; ; again = true {
		err := n.changeOnce(ctx, c)
		if err == nil {
			return nil
		}
		switch kind := turn.KindOf(err); {
		case again && (kind == turn.Exists || kind == turn.NotFound):
			return nil
		case kind != turn.Unknown:
			return err
		}
		_, changed := n.lead.leader()
		if !pause(ctx, changed, 50*time.Millisecond, false) {
			return err
		}
	}
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
	if f != nil {
		return f.err
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
		if !pause(ctx, changed, 0, true) {
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
		e := turn.AsError(err)
		return badly(&failure{e.Kind != turn.Unknown, e}), nil
	}
	return []byte{fared}, nil
}

func (n *Node) changeHere(ctx context.Context, c change) error {
	r := n.raft.Load()
	if r == nil || r.State() != raft.Leader {
		return notLeader().err
	}
	if c.Remove {
		return n.removeHere(ctx, r, c.ID)
	}
	return n.addHere(ctx, r, c)
}

func (n *Node) removeHere(ctx context.Context, r *raft.Raft, id string) error {
	found := false
	for _, s := range n.configuration().Servers {
		found = found || string(s.ID) == id
	}
	if !found {
		return turn.Errorf(turn.NotFound, "node %s is not a member", id)
	}
	if others, _ := n.voters(); id == n.id {
		if len(others) == 0 {
			return turn.Errorf(turn.Invalid, "node %s is the last voter", id)
		}
		if err := n.TransferLeadership(ctx); err != nil {
			return err
		}
		return turn.Errorf(turn.Unknown, "the new leader is to remove node %s: ask again", id)
	}
	if err := changed(await(ctx, r.RemoveServer(raft.ServerID(id), 0, time.Second))); err != nil {
		return err
	}
	done, err := n.propose(ctx, nil, &codec.Member{ID: id, Remove: true})
	if err != nil {
		return turn.Errorf(turn.Unknown, "node %s is removed; that its record is forgotten is not certain: %v", id, err)
	}
	n.spread(ctx, done.Index)
	return nil
}

// spread waits a little until the other nodes have applied an entry, so that a
// member that was removed and comes back with a new directory is not turned away
// by one that lags by a moment.
func (n *Node) spread(ctx context.Context, index uint64) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	others, _ := n.voters()
	for _, id := range others {
		for {
			if st, err := n.statusOf(ctx, id); err != nil || st.Applied >= index {
				break
			}
			if !pause(ctx, nil, 5*time.Millisecond, false) {
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
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return unavailable("the configuration was not changed: %v", err)
	}
	return turn.Errorf(turn.Unknown, "the configuration change was begun, its outcome is unknown: %v; see the cluster's status", err)
}

func (n *Node) addHere(ctx context.Context, r *raft.Raft, c change) error {
	for _, s := range n.configuration().Servers {
		if string(s.ID) == c.ID && s.Suffrage == raft.Voter && string(s.Address) == c.Addr {
			return turn.Errorf(turn.Exists, "node %s is a member already", c.ID)
		}
	}
	if err := n.addLearner(ctx, r, c); err != nil {
		return err
	}
	poke(n.standing)
	if err := n.untilCaughtUp(ctx, c.ID); err != nil {
		return err
	}
	return changed(await(ctx, r.AddVoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second)))
}

// addLearner makes a node a member without a vote if it is the one that is meant,
// and if the cluster has to do with it.
func (n *Node) addLearner(ctx context.Context, r *raft.Raft, c change) error {
	if !n.levelGate.enter(ctx) {
		return unavailable("another node is being added, or the cluster's level raised: %v", ctx.Err())
	}
	defer n.levelGate.leave()
	facts, err := n.net.Probe(ctx, c.Addr)
	if err != nil {
		return unavailable("node %s at %s does not answer as it should: %v", c.ID, c.Addr, err)
	}
	if facts.NodeID != c.ID {
		return turn.Errorf(turn.Invalid, "at %s there is node %s, not node %s", c.Addr, facts.NodeID, c.ID)
	}
	return changed(await(ctx, r.AddNonvoter(raft.ServerID(c.ID), raft.ServerAddress(c.Addr), 0, time.Second)))
}

// untilCaughtUp waits until a learner is recorded as a member, so that its
// incarnation is known before it may vote, and has applied nearly all.
func (n *Node) untilCaughtUp(ctx context.Context, id string) error {
	const near = 64 // entries
	for {
		st, err := n.statusOf(ctx, id)
		if err == nil && n.recorded(id) == "" {
			_, err = n.propose(ctx, nil, &codec.Member{ID: id, Incarnation: st.Incarnation, RESPAddr: st.RESPAddr, HTTPAddr: st.HTTPAddr})
		}
		if applied, _ := n.state.Applied(); err == nil && n.recorded(id) == st.Incarnation && st.Applied+near >= applied {
			return nil
		}
		if leading, _, _ := n.raftState(); !leading {
			return turn.Errorf(turn.Unknown, "node %s is a learner; leadership changed before it could become a voter: add it again", id)
		}
		select {
		case <-ctx.Done():
			return turn.Errorf(turn.Unknown, "node %s is a learner and has not caught up yet (%v): add it again to make it a voter", id, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
