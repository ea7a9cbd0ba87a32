package turnlogtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/config"
	"github.com/turnlog/turnlog/internal/ports"
)

const (
	nodes    = 3
	majority = nodes/2 + 1
	// election is how long a leader may be silent. It is shorter than that of `turnlog serve`, so that
	// tests wait less, and long enough for machines that are busy with tests.
	election  = 400 * time.Millisecond
	startTime = time.Minute
)

// Cluster is three nodes of turnlog, each a process of its own, to test what a program does while nodes
// fail. Its methods, and those of its nodes, may be called by any goroutine.
type Cluster struct {
	nodes []*Node
	links []*link
	ports ports.Reserved
	close func() error

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something about a node has changed
}

// StartCluster runs a cluster for a test. When it returns, the cluster has a leader and is ready for
// requests. It ends with the test and its subtests. Errors fail the test, and so does a node that ends
// by itself.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c, err := NewCluster(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// NewCluster runs a cluster with its data in dir, ready for requests, until Close. Use it where there
// is no testing.TB, such as in TestMain. dir must be empty. It also receives the nodes' logs.
func NewCluster(dir string) (*Cluster, error) {
	c := &Cluster{changed: make(chan struct{})}
	c.close = sync.OnceValue(c.closeOnce)
	if err := c.start(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("turnlogtest: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(dir string) error {
	if err := c.prepare(dir); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := n.Restart(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	_, err := c.Leader(ctx)
	return err
}

// prepare makes the nodes, and the links between them.
func (c *Cluster) prepare(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	addrs, err := c.ports.Addrs(3 * nodes)
	if err != nil {
		return err
	}
	var members []string
	for i := range nodes {
		id := fmt.Sprint("n", i+1)
		cfg := settings(filepath.Join(dir, id))
		cfg.NodeID, cfg.ElectionTimeout = id, election
		cfg.Listen = config.Addresses{RESP: addrs[3*i], HTTP: addrs[3*i+1], Raft: addrs[3*i+2]}
		members = append(members, id+"="+cfg.Listen.Raft)
		c.nodes = append(c.nodes, &Node{cluster: c, cfg: cfg, log: filepath.Join(dir, id+".log")})
	}
	for _, n := range c.nodes {
		n.cfg.Cluster.Initial = strings.Join(members, ",")
		if n.cfg.Cluster.DialMap, err = c.linksOf(n); err != nil {
			return err
		}
	}
	return nil
}

// Nodes returns the three nodes: n1, n2 and n3. They stay the same when they are killed and restarted.
func (c *Cluster) Nodes() []*Node { return append([]*Node(nil), c.nodes...) }

// Addrs returns the addresses on which the nodes listen for Redis and turnlog clients, for
// client.Config.
func (c *Cluster) Addrs() (addrs []string) {
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// Leader waits until the cluster has a leader that is not killed, paused or partitioned, and returns
// it. Right after the leader was killed, this is the next one. If ctx ends first, the error says what
// the nodes know.
func (c *Cluster) Leader(ctx context.Context) (*Node, error) {
	for {
		c.mu.Lock()
		leader, state, changed := c.leaderLocked(), c.stateLocked(), c.changed
		c.mu.Unlock()
		if leader != nil {
			return leader, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("turnlogtest: there is no leader (%s): %w", state, ctx.Err())
		}
	}
}

// leaderLocked returns the node that a majority takes for the leader, itself included.
func (c *Cluster) leaderLocked() *Node {
	for _, leader := range c.nodes {
		followed := 0
		for _, n := range c.nodes {
			if n.state() == running && n.leader == leader.ID() {
				followed++
			}
		}
		if followed >= majority && leader.state() == running && leader.leader == leader.ID() {
			return leader
		}
	}
	return nil
}

// stateLocked says in words what Leader looks at.
func (c *Cluster) stateLocked() string {
	var parts []string
	for _, n := range c.nodes {
		switch s := n.state(); {
		case s != running:
			parts = append(parts, n.ID()+" is "+string(s))
		case n.leader == "":
			parts = append(parts, n.ID()+" knows no leader")
		default:
			parts = append(parts, n.ID()+" follows "+n.leader)
		}
	}
	return strings.Join(parts, "; ")
}

// Close kills the nodes. If nodes had ended by themselves before, it returns why; further calls return
// the same.
func (c *Cluster) Close() error { return c.close() }

func (c *Cluster) closeOnce() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.end())
	}
	for _, l := range c.links {
		l.proxy.Close()
	}
	c.ports.Release()
	return errors.Join(errs...)
}
