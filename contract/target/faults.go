package target

import (
	"context"
	"slices"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// restarts are the ways in which the suite restarts its own cluster.
func (c *nodes) restarts() []contract.Restart {
	kinds := []contract.Restart{
		{Kind: contract.CanStop, Do: c.with(c.stopAll)},
		{Kind: contract.CanKill, Do: c.with(c.killFirst)},
		{Kind: contract.CanKillLead, Do: c.with(c.killLeader)},
		{Kind: contract.CanKillAll, Do: c.with(c.killAll)},
	}
	if len(c.Nodes) > 1 {
		kinds = append([]contract.Restart{{Kind: contract.CanReplace, Do: c.with(c.replace)}}, kinds...)
	}
	return kinds
}

// with makes f a restart: nothing else happens to the nodes meanwhile.
func (c *nodes) with(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		return f(ctx)
	}
}

// stopAll ends every node as an operator would, one after another, and starts them
// again.
func (c *nodes) stopAll(ctx context.Context) error {
	for _, n := range c.Nodes {
		n.Stop(stopTime) // how is not at issue
	}
	return c.startAgain(ctx, c.Nodes...)
}

// startAgain starts nodes and waits until all serve.
func (c *nodes) startAgain(ctx context.Context, ns ...*testcluster.Node) error {
	for _, n := range ns {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

func (c *nodes) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return c.WaitReady(ctx)
}

// leader waits until a node other than not, which may be nil, leads.
func (c *nodes) leader(ctx context.Context, not *testcluster.Node) (*testcluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return c.WaitLeader(ctx, not)
}

// killFirst kills one node, whatever its role, and starts it again at once.
func (c *nodes) killFirst(ctx context.Context) error {
	c.Nodes[0].Kill()
	return c.startAgain(ctx, c.Nodes[0])
}

func (c *nodes) killLeader(ctx context.Context) error {
	l, err := c.leader(ctx, nil)
	if err != nil {
		return err
	}
	l.Kill()
	if len(c.Nodes) > 1 { // the others must do without it
		next, err := c.leader(ctx, l)
		if err != nil {
			return err
		}
		if err := next.WaitReady(ctx); err != nil {
			return err
		}
	}
	return c.startAgain(ctx, l)
}

func (c *nodes) killAll(ctx context.Context) error {
	c.KillAll()
	return c.startAgain(ctx, c.Nodes...)
}

// replace loses a follower with its disk, and lets a new node take its place.
func (c *nodes) replace(ctx context.Context) error {
	leader, err := c.leader(ctx, nil)
	if err != nil {
		return err
	}
	lost := c.Nodes[slices.IndexFunc(c.Nodes, func(n *testcluster.Node) bool { return n != leader })]
	lost.Kill()
	if err := leader.Remove(ctx, lost); err != nil {
		return err
	}
	fresh, err := c.Replace(lost)
	if err != nil {
		return err
	}
	if err := fresh.Start(); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := testcluster.Until(limit, fresh.ID+" is added",
		func() bool { return leader.Add(limit, fresh) == nil }); err != nil {
		return err
	}
	return c.ready(ctx)
}
