package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

func dataFaults() []Fault {
	return []Fault{
		{Name: "wiped", About: "a node comes back under its name without its data, and must not get in", Nodes: 3, Pick: to(aFollower, wiped)},
		{Name: "long-absence", About: "a follower is away until its log is gone from the others, and needs a snapshot",
			Nodes: 3, Pick: to(aFollower, kill), Hold: seconds(6, 12)},
		{Name: "replaced", About: "a node that lost its data is removed from the cluster and added anew", Nodes: 3, Alone: true, Pick: to(aFollower, replaced)},
		{Name: "leader-removed", About: "the leader is removed while a follower is cut off, and added anew", Nodes: 3, Alone: true, Pick: to(theLeader, leaderRemoved)},
		{Name: "transfer", About: "the leader is asked to hand over", Nodes: 2, Pick: to(theLeader, transfer)},
		{Name: "snapshot", About: "a node is asked for a snapshot", Pick: to(someNode, snapshot)},
	}
}

// refusal is how long a wiped node is given to get in.
const refusal = 3 * time.Second

// wiped starts a node without its data. A store that lets it in may lose what it
// had promised to keep: it must not become ready nor count as a voter.
func wiped(ctx context.Context, _ *Env, n *cluster.Node) (healer, error) {
	if err := n.Kill(); err != nil {
		return nil, err
	}
	aside, err := n.Wipe()
	if err != nil {
		return nil, err
	}
	if err := n.Start(); err != nil {
		return nil, err
	}
	n.Expect(true) // to give up is a good answer
	gotIn := staysOut(ctx, n)
	if n.Running() {
		n.Kill()
	}
	return starts(n), errors.Join(gotIn, n.Unwipe(aside))
}

func staysOut(ctx context.Context, n *cluster.Node) error {
	watch, cancel := context.WithTimeout(ctx, refusal)
	defer cancel()
	err := cluster.Until(watch, "", func() bool { return n.Ready(watch) || !n.Running() })
	if err == nil && n.Running() {
		return fmt.Errorf("%s was let in again after it had lost its data", n.ID)
	}
	return nil
}

// replacement is how long it may take to make a node a member again.
const replacement = 60 * time.Second

// replaced does what an operator does with a node whose disk is gone. The node
// learns again all that it knew: what the others tell it counts, not its name.
func replaced(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	if err := n.Kill(); err != nil {
		return nil, err
	}
	return nil, e.Replace(ctx, n)
}

// leaderRemoved ends the membership of the leader inside a partition: of those that are
// left, one has not heard of it, and has to agree when it is back.
func leaderRemoved(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	cut := oneOf(e.Rand, e.Cluster.Followers(ctx))
	if cut == nil {
		return nil, nil
	}
	e.Cluster.Network.Split([]string{cut.ID}, e.others(cut), cluster.Flow{Cut: true})
	n.Expect(true)
	asked, cancel := context.WithTimeout(ctx, between(e.Rand, seconds(1, 4)))
	defer cancel()
	e.note(n, "removal", n.Remove(asked, n)) // nobody may be able to tell whether it took place
	e.Cluster.Network.Heal()
	if n.Running() {
		if err := n.Kill(); err != nil {
			return nil, err
		}
	}
	return nil, e.Replace(ctx, n)
}

// Replace makes a node that is down a member anew, without its data.
func (e *Env) Replace(ctx context.Context, n *cluster.Node) error {
	// Not to be interrupted: nobody else would make the node a member again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replacement)
	defer cancel()
	if err := e.insist(ctx, n.ID+" is removed", func(other *cluster.Node) error { return removed(ctx, other, n) }); err != nil {
		return err
	}
	aside, err := n.Wipe()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(aside); err != nil { // a long run would fill the disk with such
		return err
	}
	if err := n.Start("--join"); err != nil {
		return err
	}
	if err := e.insist(ctx, n.ID+" is added", func(other *cluster.Node) error { return other.Add(ctx, n) }); err != nil {
		return err
	}
	return cluster.Until(ctx, n.ID+" is ready", func() bool { return n.Ready(ctx) })
}

// removed has a leader end the membership of n, unless that has been done.
func removed(ctx context.Context, leader, n *cluster.Node) error {
	s, err := leader.Status(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Nodes, func(m cluster.NodeStatus) bool { return m.ID == n.ID }) {
		return nil
	}
	return leader.Remove(ctx, n)
}

// insist asks nodes for something until one has done it.
func (e *Env) insist(ctx context.Context, what string, ask func(*cluster.Node) error) error {
	var problem error
	err := cluster.Until(ctx, what, func() bool {
		n := e.Cluster.Leader(ctx)
		if n == nil {
			return false
		}
		problem = ask(n)
		return problem == nil
	})
	if err != nil {
		return fmt.Errorf("%w: %v", err, problem)
	}
	return nil
}

// transfer may be refused, when the cluster has other worries.
func transfer(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.note(n, "transfer", n.Transfer(ctx))
	return nil, nil
}

func snapshot(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	e.note(n, "snapshot", n.Snapshot(ctx))
	return nil, nil
}

func (e *Env) note(n *cluster.Node, what string, err error) {
	if err != nil {
		e.Recorder.Note(n.ID, fmt.Sprintf("%s: %v", what, err))
	}
}
