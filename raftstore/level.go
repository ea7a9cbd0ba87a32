package raftstore

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// knownLevel is the highest level that this node's version knows.
func (n *Node) knownLevel() turn.ClusterLevel {
	if n.cfg.unaware {
		return turn.Level0
	}
	return turn.NewestLevel
}

// allowedLevel is the highest level that this node lets the cluster go to.
func (n *Node) allowedLevel() turn.ClusterLevel {
	known := n.knownLevel()
	if hold := n.cfg.HoldLevel; hold != nil {
		return min(known, *hold)
	}
	return known
}

// Level returns the cluster's level as far as this node has applied it.
func (n *Node) Level() turn.ClusterLevel { return n.state.Level() }

// raiseLevel has the cluster go to the highest level that every member knows and
// none holds it below. A member that does not answer may be of any version, so it
// keeps the level where it is; so does a learner, which will vote.
//
// Before that, each member is recorded: later the records tell who the members are.
//
// No node joins meanwhile (levelGate): one that was found fit for the level of
// before could not follow. While one is joining, the level waits.
func (n *Node) raiseLevel(ctx context.Context, t *propose.Term) {
	now := n.state.Level()
	if n.allowedLevel() <= now || !n.allRecorded() || !n.members.levelGate.try() {
		return
	}
	defer n.members.levelGate.leave()
	to := n.commonLevel(ctx)
	if to <= now {
		return
	}
	if _, err := n.propose(ctx, t, &codec.SetLevel{Level: to}); err != nil {
		n.log.Info("the cluster's level is not raised yet", "level", now, "to", to, "error", err)
		return
	}
	n.log.Info("the cluster's level is raised", "level", to, "from", now)
}

// allRecorded reports whether the state records every member.
func (n *Node) allRecorded() bool {
	return !slices.ContainsFunc(n.raft.others(), func(id string) bool { return n.recorded(id) == "" }) &&
		n.recorded(n.id) != ""
}

// commonLevel returns the highest level that all members allow, as they say now.
func (n *Node) commonLevel(ctx context.Context) turn.ClusterLevel {
	servers := n.raft.configuration()
	allowed := make([]turn.ClusterLevel, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			if st, err := n.statusOf(ctx, s.ID); err == nil {
				allowed[i] = st.allowedLevel()
			}
		})
	}
	wg.Wait()
	common := n.allowedLevel()
	for _, l := range allowed {
		common = min(common, l)
	}
	return common
}

func (s *nodeStatus) allowedLevel() turn.ClusterLevel {
	if s.HoldLevel != nil {
		return min(s.KnownLevel, *s.HoldLevel)
	}
	return s.KnownLevel
}

// awaitLevel refuses what the cluster is not ready for; nil if it is. The level that this node has
// applied may be an old one, and is 0 in a member that has no state yet, or has lost it: before the
// node refuses, it asks the leader.
func (n *Node) awaitLevel(ctx context.Context, needs turn.ClusterLevel) *turn.Error {
	if needs <= n.state.Level() {
		return nil
	}
	level, known := n.leaderLevel(ctx, needs)
	if !known {
		return unavailable("this needs cluster level %d, and this node does not know at which level the cluster is: "+
			"no leader told in time", needs)
	}
	return belowLevel(needs, level)
}

// leaderLevel returns the cluster's level, of which the leader knows that it has applied all raises;
// or, if the leader's version does not know the level that is asked for, a lower one.
func (n *Node) leaderLevel(ctx context.Context, needs turn.ClusterLevel) (level turn.ClusterLevel, known bool) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Calls.LeaderWait)
	defer cancel()
	for {
		leader, changed := n.lead.leader()
		if leader != "" {
			s, err := n.statusOf(ctx, leader)
			switch {
			case err != nil:
			case s.Level != nil:
				return max(*s.Level, n.state.Level()), true
			case s.KnownLevel < needs:
				return n.state.Level(), true
			}
		}
		if !signal.Wait(ctx, changed, 15*time.Millisecond) {
			return 0, false
		}
	}
}

// levelError is awaitLevel by the level that this node has applied, which is never above the
// cluster's.
func (n *Node) levelError(needs turn.ClusterLevel) *turn.Error {
	return belowLevel(needs, n.state.Level())
}

// belowLevel refuses what needs a higher level than the cluster's.
func belowLevel(needs, level turn.ClusterLevel) *turn.Error {
	if needs <= level {
		return nil
	}
	return unavailable("this needs cluster level %d, and the cluster is at level %d, which rises when every member "+
		"runs a version that knows more: see turnlog cluster status", needs, level)
}

// awaitQueryLevel is awaitLevel for a query.
func (n *Node) awaitQueryLevel(ctx context.Context, q turn.Query) *turn.Error {
	if n.state.Level() == turn.NewestLevel {
		return nil // as nearly always
	}
	_, needs, err := codec.EncodeQueryLevel(q)
	if err != nil {
		return turn.AsError(err)
	}
	return n.awaitLevel(ctx, needs)
}

// gate lets one in at a time.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// enter reports whether the caller is in; if not, ctx ended.
func (g gate) enter(ctx context.Context) bool {
	select {
	case g <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// try is enter without waiting, for callers that can try again later.
func (g gate) try() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) leave() { <-g }

// What is in the log is applied by every node, at every start, so a command that a
// state machine cannot take must not come into it: it would end all of them, for
// good. The own calls were encoded here; those of other nodes are decoded before
// they are proposed.

// vet looks at the commands of another node. If the cluster is not, or not yet, at the
// level that one of them needs, none may be proposed: the node is to ask again.
func (n *Node) vet(commands []codec.Command) (propose.Vetted, *propose.Failure) {
	v := propose.Vetted{Fit: commands}
	for i, c := range commands {
		op, needs, err := n.fit(c.Op)
		if err == nil {
			if err := n.levelError(needs); err != nil {
				return propose.Vetted{}, definite(err)
			}
			v.Weight += fsm.Weight(op)
			if len(v.Refused) > 0 {
				v.Fit = append(v.Fit, c)
			}
			continue
		}
		if len(v.Refused) == 0 {
			n.log.Error("rejected an operation from another node, because it could not be applied", "error", err)
			v.Fit = append([]codec.Command(nil), commands[:i]...)
		}
		v.Refused = append(v.Refused, fsm.Outcome{Origin: c.Origin, Number: c.Number, Err: err})
	}
	return v, nil
}

// fit decodes an operation and returns the level that it needs, or why it can never be
// proposed.
func (n *Node) fit(encoded []byte) (turn.Op, turn.ClusterLevel, *turn.Error) {
	op, needs, err := codec.DecodeOpLevel(encoded)
	if err != nil {
		return nil, 0, turn.Errorf(turn.Invalid, "the leader cannot decode the operation, which was not applied: %v",
			turn.AsError(err).Message)
	}
	if err := proposable(op); err != nil {
		return nil, 0, err
	}
	if err := op.Validate(n.hardLimits()); err != nil {
		return nil, 0, turn.AsError(err)
	}
	return op, needs, nil
}

// proposable refuses operations that only a leader proposes, by itself.
func proposable(op turn.Op) *turn.Error {
	switch o := op.(type) {
	case *codec.Tick, *codec.Epoch, *codec.Member, *codec.SetLevel:
		return turn.Errorf(turn.Invalid, "%T is not an operation for clients", op)
	case *turn.Tx:
		for i := range o.Steps {
			switch step := o.Steps[i].Op.(type) {
			case *codec.Tick, *codec.Epoch, *codec.Member, *codec.SetLevel, *codec.Checksum:
				return turn.Errorf(turn.Invalid, "%T cannot be a step of a transaction", step)
			}
		}
	}
	return nil
}

// hardLimits are those beyond which a state machine cannot go. Nodes may be
// configured for different sizes of messages; what one of them took is not refused
// by another.
func (n *Node) hardLimits() turn.Limits {
	l := n.cfg.Limits
	l.MessageBytes, l.AppendBytes, l.AppendMessages = math.MaxInt, math.MaxInt, math.MaxInt
	l.IDBytes, l.MetaBytes = math.MaxInt, math.MaxInt
	l.KeyBytes = max(l.KeyBytes, turn.DefaultLimits().KeyBytes)
	return l
}
