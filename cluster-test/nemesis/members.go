package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/testcluster"
)

func memberFaults() []Fault {
	return []Fault{
		{Name: "replaced", About: "a node that lost its data is removed from the cluster and added again", Nodes: 3,
			Alone: true, Pick: to(aFollower, replaced)},
		{Name: "leader-removed", About: "the leader is removed while a follower is cut off, and added again", Nodes: 3,
			Alone: true, Pick: to(theLeader, leaderRemoved)},
		{Name: "demoted",
			About: "a learner joins and gets a vote, and a voter, perhaps the leader, loses its own, amid splits",
			Nodes: 3, Spares: 2, Alone: true, Pick: to(mostlyLeader, demoted), Hold: seconds(1, 4)},
		{Name: "grown", About: "two nodes are added and removed again, while the network splits around the change",
			Nodes: 3, Spares: 2, Alone: true, Pick: toAll(grown), Hold: seconds(0.5, 3)},
	}
}

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
	e.Cluster.Network.Split([]string{cut.ID}, e.others(cut), faultproxy.Flow{Cut: true})
	n.Expect(true)
	asked, cancel := context.WithTimeout(ctx, between(e.Rand, seconds(1, 4)))
	defer cancel()
	e.note(n, "removal", n.Remove(asked, n.Node)) // its outcome may be unknown
	e.Cluster.Network.Heal()
	if n.Running() {
		if err := n.Kill(); err != nil {
			return nil, err
		}
	}
	return nil, e.Replace(ctx, n)
}

// demoted has a learner take a voter's place: a node joins as a learner and is promoted, and then the voter, which
// may be the leader, is demoted, each change during a split. While the new voter votes in its place, another voter
// is killed, so that the majority depends on both changes. The healer takes all of it back.
func demoted(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	// Not to be interrupted: nothing else would bring the members back to what they were.
	ctx = context.WithoutCancel(ctx)
	spare := e.Cluster.Spares[0]
	if err := spare.Start("--join"); err != nil {
		return nil, err
	}
	if err := e.amidSplit(ctx, spare.ID+" is a learner", func(ctx context.Context, leader *cluster.Node) error {
		if is, err := member(ctx, leader, spare); is || err != nil {
			return err
		}
		return leader.AddLearner(ctx, spare.Node)
	}); err != nil {
		return nil, err
	}
	if err := spare.Kill(); err != nil { // what it is does not change by that
		return nil, err
	}
	if err := spare.Start("--join"); err != nil {
		return nil, err
	}
	if err := e.amidSplit(ctx, spare.ID+" is promoted", granted(spare)); err != nil {
		return nil, err
	}
	if err := e.amidSplit(ctx, n.ID+" is demoted", revoked(n)); err != nil {
		return nil, err
	}
	rest := e.others(n)
	voter := e.Cluster.Node(rest[e.Rand.IntN(len(rest))])
	if err := voter.Kill(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := start(voter); err != nil {
			return err
		}
		ctx = context.WithoutCancel(ctx)
		if err := e.amidSplit(ctx, n.ID+" is promoted", granted(n)); err != nil {
			return err
		}
		if err := e.amidSplit(ctx, spare.ID+" is demoted", revoked(spare)); err != nil {
			return err
		}
		return e.shrink(ctx)
	}, nil
}

// revoked has a leader take the vote of n, unless that has been done.
func revoked(n *cluster.Node) func(context.Context, *cluster.Node) error {
	return func(ctx context.Context, leader *cluster.Node) error {
		if is, err := votes(ctx, leader, n); !is || err != nil {
			return err
		}
		return leader.Demote(ctx, n.Node)
	}
}

// granted has a leader give n a vote, unless that has been done.
func granted(n *cluster.Node) func(context.Context, *cluster.Node) error {
	return func(ctx context.Context, leader *cluster.Node) error {
		if is, err := votes(ctx, leader, n); is || err != nil {
			return err
		}
		return leader.Promote(ctx, n.Node)
	}
}

// votes reports whether n is a voter, as the leader sees it.
func votes(ctx context.Context, leader, n *cluster.Node) (bool, error) {
	s, err := leader.Status(ctx)
	return slices.ContainsFunc(s.Nodes, func(m testcluster.NodeStatus) bool { return m.ID == n.ID && m.Voter }), err
}

// grown makes members of the spares, one by one, and ends that again: each change begins
// while a node, or more, is cut off and does not hear of it.
func grown(ctx context.Context, e *Env) (healer, error) {
	// Not to be interrupted: nothing else would bring the members back to what they were.
	ctx = context.WithoutCancel(ctx)
	for _, n := range e.Cluster.Spares {
		if err := n.Start("--join"); err != nil {
			return nil, err
		}
		err := e.amidSplit(ctx, n.ID+" is added",
			func(ctx context.Context, leader *cluster.Node) error { return added(ctx, leader, n) })
		if err != nil {
			return nil, err
		}
	}
	return e.shrink, nil
}

// shrink removes the spares, which then have no data.
func (e *Env) shrink(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	for _, n := range e.Cluster.Spares {
		n.Expect(true)
		err := e.amidSplit(ctx, n.ID+" is removed",
			func(ctx context.Context, leader *cluster.Node) error { return removed(ctx, leader, n) })
		if err != nil {
			return err
		}
		if n.Running() {
			err = n.Kill()
		}
		if err = errors.Join(err, os.RemoveAll(n.Dir)); err != nil {
			return err
		}
	}
	return nil
}

// amidSplit asks leaders for a change, first while a minority is cut off and does not hear of it, and
// then until it is made.
func (e *Env) amidSplit(ctx context.Context, what string, ask func(context.Context, *cluster.Node) error) error {
	ctx, cancel := context.WithTimeout(ctx, replacement)
	defer cancel()
	all := e.others(nil)
	for _, n := range e.Cluster.Spares {
		if n.Running() {
			all = append(all, n.ID)
		}
	}
	e.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	minority := 1 + e.Rand.IntN((len(all)-1)/2)
	e.Cluster.Network.Split(all[:minority], all[minority:], e.severed())
	asked, stop := context.WithTimeout(ctx, between(e.Rand, seconds(1, 3)))
	defer stop()
	if leader := e.Cluster.Leader(asked); leader != nil {
		e.note(leader, what, ask(asked, leader)) // its outcome may be unknown
	}
	e.Cluster.Network.Heal()
	return e.insist(ctx, what, func(leader *cluster.Node) error { return ask(ctx, leader) })
}

// Replace makes a node that is down a member again, without its data.
func (e *Env) Replace(ctx context.Context, n *cluster.Node) error {
	// Not to be interrupted: nothing else would make the node a member again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replacement)
	defer cancel()
	if err := e.insist(ctx, n.ID+" is removed",
		func(other *cluster.Node) error { return removed(ctx, other, n) }); err != nil {
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
	if err := e.insist(ctx, n.ID+" is added",
		func(other *cluster.Node) error { return other.Add(ctx, n.Node) }); err != nil {
		return err
	}
	return testcluster.Until(ctx, n.ID+" is ready", func() bool { return n.Ready(ctx) })
}

// added has a leader make n a member, unless that has been done.
func added(ctx context.Context, leader, n *cluster.Node) error {
	if is, err := member(ctx, leader, n); is || err != nil {
		return err
	}
	return leader.Add(ctx, n.Node)
}

// removed has a leader end the membership of n, unless that has been done.
func removed(ctx context.Context, leader, n *cluster.Node) error {
	if is, err := member(ctx, leader, n); !is || err != nil {
		return err
	}
	return leader.Remove(ctx, n.Node)
}

// member reports whether n is one, as the leader sees it.
func member(ctx context.Context, leader, n *cluster.Node) (bool, error) {
	s, err := leader.Status(ctx)
	return slices.ContainsFunc(s.Nodes, func(m testcluster.NodeStatus) bool { return m.ID == n.ID }), err
}

// insist asks nodes for something until one has done it.
func (e *Env) insist(ctx context.Context, what string, ask func(*cluster.Node) error) error {
	var problem error
	err := testcluster.Until(ctx, what, func() bool {
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
