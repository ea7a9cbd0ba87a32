package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/ports"
)

// Cluster is a cluster of turnlog that the benchmark started on this machine.
type Cluster struct {
	binary, dir string
	flags       []string // further flags of every node
	nodes       []*node
	ports       ports.Reserved
}

// node is one process of turnlog, with its data in a directory of its own.
type node struct {
	id, data                string
	resp, http, raft, pprof string
	args                    []string
	*process
}

func (c *Cluster) dataDir(id string) string { return filepath.Join(c.dir, id) }

// StartTurnlog starts a cluster of turnlog with its data in dir. flags are
// further flags for each node.
func StartTurnlog(ctx context.Context, binary, dir string, nodes int, flags ...string) (_ *Cluster, err error) {
	c := &Cluster{binary: binary, dir: dir, flags: flags}
	defer func() {
		if err != nil {
			c.Stop()
			err = fmt.Errorf("starting turnlog: %w", err)
		}
	}()
	addrs, err := c.ports.Addrs(nodes * portsPerNode)
	if err != nil {
		return nil, err
	}
	var all []*node
	var members []string
	for i := range nodes {
		n := c.newNode(fmt.Sprintf("n%d", i+1), addrs[i*portsPerNode:])
		all = append(all, n)
		members = append(members, n.id+"="+n.raft)
	}
	for _, n := range all {
		n.args = append(n.args, "--initial-cluster", strings.Join(members, ","))
		if err := c.start(n); err != nil {
			return nil, err
		}
	}
	return c, until(ctx, c.processes(), func(ctx context.Context) error {
		for _, n := range c.nodes {
			if _, err := ask(ctx, n.resp, "TURN.INFO", "ready?"); err != nil {
				return err
			}
		}
		return nil
	})
}

const portsPerNode = 4

func (c *Cluster) newNode(id string, addrs []string) *node {
	n := &node{id: id, resp: addrs[0], http: addrs[1], raft: addrs[2], pprof: addrs[3]}
	n.data = c.dataDir(id)
	n.args = append([]string{"serve", "--node-id", id, "--data-dir", n.data, "--resp-addr", n.resp,
		"--http-addr", n.http, "--raft-addr", n.raft, "--pprof-addr", n.pprof}, c.flags...)
	return n
}

// start runs a node, a new one or one that has ended.
func (c *Cluster) start(n *node) (err error) {
	if n.process, err = startProcess(c.dir, n.id, c.binary, n.args...); err != nil {
		return err
	}
	if !slices.Contains(c.nodes, n) {
		c.nodes = append(c.nodes, n)
	}
	return nil
}

// drop forgets a node that has ended, with its data.
func (c *Cluster) drop(n *node) error {
	c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
	return os.RemoveAll(c.dataDir(n.id))
}

// Stop ends all nodes.
func (c *Cluster) Stop() {
	stopAll(c.processes())
	c.ports.Release()
}

func (c *Cluster) processes() []*process {
	var all []*process
	for _, n := range c.nodes {
		all = append(all, n.process)
	}
	return all
}

// Leader is the cluster as its leader's clients see it.
func (c *Cluster) Leader(ctx context.Context) (Target, error) { return c.target(ctx, true) }

// Follower is the cluster as clients of another node see it.
func (c *Cluster) Follower(ctx context.Context) (Target, error) { return c.target(ctx, false) }

func (c *Cluster) target(ctx context.Context, leader bool) (Target, error) {
	lead, err := c.leader(ctx)
	if err != nil {
		return Target{}, err
	}
	t := Target{Protocol: Turnlog, Processes: pids(c.processes())}
	for _, n := range c.byRole(lead) {
		t.Metrics = append(t.Metrics, n.http)
		t.Profiles = append(t.Profiles, n.pprof)
		if (n == lead) == leader {
			t.Addrs = []string{n.resp}
		}
	}
	return t, nil
}

// byRole returns the nodes, the leader first.
func (c *Cluster) byRole(leader *node) []*node {
	all := slices.Clone(c.nodes)
	slices.SortStableFunc(all, func(a, b *node) int {
		switch {
		case a == leader:
			return -1
		case b == leader:
			return 1
		}
		return 0
	})
	return all
}

// leader returns the node that leads.
func (c *Cluster) leader(ctx context.Context) (*node, error) {
	v, err := ask(ctx, c.nodes[0].resp, "TURN.CLUSTER")
	if err != nil {
		return nil, err
	}
	var seen struct {
		Nodes []struct{ ID, Role string }
	}
	if err := json.Unmarshal(v.Str, &seen); err != nil {
		return nil, fmt.Errorf("TURN.CLUSTER: %w", err)
	}
	for _, s := range seen.Nodes {
		for _, n := range c.nodes {
			if s.Role == "leader" && s.ID == n.id {
				return n, nil
			}
		}
	}
	return nil, errors.New("the turnlog cluster has no leader at the moment")
}
