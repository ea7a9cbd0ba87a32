package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/bench/target"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Cluster is a cluster of turnlog that the benchmark started on this machine.
type Cluster struct{ *testcluster.Cluster }

// startTime is how long servers may take to be ready, fillTime how long a node may take
// to be filled or to compact its log, however slowly.
const (
	startTime = time.Minute
	fillTime  = 10 * time.Minute
)

// StartTurnlog starts a cluster of turnlog with its data in dir. flags are
// further flags for each node.
func StartTurnlog(ctx context.Context, binary, dir string, nodes int, flags ...string) (*Cluster, error) {
	c, err := testcluster.New(testcluster.Config{Binary: binary, Dir: dir, Nodes: nodes, Flags: flags, Pprof: true,
		CallTimeout: fillTime})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("starting turnlog: %w", err)
	}
	return &Cluster{c}, nil
}

// Leader is the cluster as its leader's clients see it.
func (c *Cluster) Leader(ctx context.Context) (target.Target, error) { return c.target(ctx, true) }

// Follower is the cluster as clients of another node see it.
func (c *Cluster) Follower(ctx context.Context) (target.Target, error) { return c.target(ctx, false) }

func (c *Cluster) target(ctx context.Context, leader bool) (target.Target, error) {
	all, err := c.byRole(ctx)
	if err != nil {
		return target.Target{}, err
	}
	t := target.Target{Protocol: target.Turnlog}
	for i, n := range all {
		t.Processes = append(t.Processes, n.PID())
		t.Metrics = append(t.Metrics, n.HTTPAddr)
		t.Profiles = append(t.Profiles, n.PprofAddr)
		if (i == 0) == leader {
			t.Addrs = []string{n.RESPAddr}
		}
	}
	return t, nil
}

// byRole returns the nodes, the leader first.
func (c *Cluster) byRole(ctx context.Context) ([]*testcluster.Node, error) {
	leader := c.Cluster.Leader(ctx)
	if leader == nil {
		return nil, errors.New("the turnlog cluster has no leader at the moment")
	}
	all := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *testcluster.Node) bool { return n == leader })
	return slices.Insert(all, 0, leader), nil
}
