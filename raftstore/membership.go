package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

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

// memberChanges makes the changes of the members, on the leader or by way of it.
type memberChanges struct {
	node     *Node
	changing gate // for one change of the configuration at a time
	// levelGate is held while a node is found fit to join, until it is a member, and
	// while the level is raised.
	levelGate gate
}

func newMemberChanges(n *Node) *memberChanges {
	return &memberChanges{node: n, changing: newGate(), levelGate: newGate()}
}

// AddNode makes the node id at addr a member: first as a learner, then, when it
// holds the log, as a voter. The node must run, with an empty data directory and
// Config.Join. It may be called on any node, and again if it fails.
func (n *Node) AddNode(ctx context.Context, id, addr string) error {
	if id == "" || len(id) > 64 || addr == "" {
		return turn.Errorf(turn.Invalid, "adding a node needs an id of 1 to 64 bytes and an address")
	}
	return n.members.change(ctx, change{ID: id, Addr: addr})
}

// RemoveNode ends the membership of a node; it stops by itself if it runs. It may
// be called on any node, and again if it fails.
func (n *Node) RemoveNode(ctx context.Context, id string) error {
	return n.members.change(ctx, change{Remove: true, ID: id})
}

// HandOver has the leader hand over to another voter. It may be called on any node.
func (n *Node) HandOver(ctx context.Context) error {
	return n.members.changeOnce(ctx, change{Transfer: true})
}

// change has the leader make a change.
func (mc *memberChanges) change(ctx context.Context, c change) error {
	return mc.repeat(ctx, c, func() error { return mc.changeOnce(ctx, c) })
}

// repeat attempts a change again if its outcome is unknown: a change that took place already
// is not made twice. If leadership moves, the next leader is asked, for as long as others wait for one.
func (mc *memberChanges) repeat(ctx context.Context, c change, attempt func() error) error {
	limit := time.Now().Add(mc.node.cfg.Calls.LeaderWait)
	for again := false; ; {
		err := attempt()
		if err == nil {
			return nil
		}
		if errors.As(err, new(moved)) && time.Now().Before(limit) {
			if _, changed := mc.node.lead.leader(); signal.Wait(ctx, changed, 50*time.Millisecond) {
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
		_, changed := mc.node.lead.leader()
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

func (mc *memberChanges) changeOnce(ctx context.Context, c change) error {
	leader, err := mc.waitLeader(ctx)
	if err != nil {
		return err
	}
	if leader == mc.node.id {
		return mc.changeHere(ctx, c)
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	answer, err := mc.node.net.Call(ctx, leader, kindMembers, b)
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
func (mc *memberChanges) waitLeader(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, mc.node.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		leader, changed := mc.node.lead.leader()
		if leader != "" {
			return leader, nil
		}
		if !signal.Wait(ctx, changed, 0) {
			return "", unavailable("no leader within %v", mc.node.cfg.Calls.LeaderWait)
		}
	}
}

func (mc *memberChanges) answerMembers(ctx context.Context, payload []byte) ([]byte, error) {
	var c change
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if err := mc.changeHere(ctx, c); err != nil {
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
func (mc *memberChanges) changeHere(ctx context.Context, c change) error {
	t := mc.node.writes.proposer.Current()
	if t == nil || !t.Holds() {
		return moved{propose.NotLeader().Err}
	}
	if c.Transfer {
		return mc.node.TransferLeadership(ctx)
	}
	if c.Remove {
		return mc.removeHere(ctx, t, c.ID)
	}
	return mc.addHere(ctx, t, c)
}
