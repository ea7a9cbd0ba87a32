package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

// Config describes a Cluster.
type Config struct {
	Binary string
	Dir    string // receives the nodes' data and logs
	Nodes  int
	Flags  []string // further flags for turnlog serve
	Pprof  bool     // nodes have a PprofAddr
	// CallTimeout is that of each Node.
	CallTimeout time.Duration
}

// Cluster is a number of nodes on loopback, with nothing between them. Its methods are
// called by one goroutine at a time.
type Cluster struct {
	Nodes []*Node

	cfg   Config
	made  int // nodes that there ever were, for their names
	ports ports.Reserved
}

// New prepares a cluster; Start runs it, Close ends it.
func New(cfg Config) (*Cluster, error) {
	c := &Cluster{cfg: cfg}
	var members []string
	for range cfg.Nodes {
		n, err := c.newNode()
		if err != nil {
			c.Close()
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
		members = append(members, n.ID+"="+n.RaftAddr)
	}
	for _, n := range c.Nodes {
		n.Args = append(n.Args, "--initial-cluster", strings.Join(members, ","))
	}
	return c, nil
}

func (c *Cluster) newNode() (*Node, error) {
	addrs, err := c.ports.Addrs(4)
	if err != nil {
		return nil, err
	}
	c.made++
	id := fmt.Sprintf("n%d", c.made)
	n := &Node{ID: id, Dir: filepath.Join(c.cfg.Dir, id), Log: filepath.Join(c.cfg.Dir, id+".log"),
		RESPAddr: addrs[0], HTTPAddr: addrs[1], RaftAddr: addrs[2],
		Args: slices.Clone(c.cfg.Flags), CallTimeout: c.cfg.CallTimeout}
	if c.cfg.Pprof {
		n.PprofAddr = addrs[3]
	}
	n.Use(c.cfg.Binary)
	return n, nil
}

// Start runs every node and waits until all serve requests.
func (c *Cluster) Start(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return c.WaitReady(ctx)
}

// WaitReady waits until every node serves requests.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, n := range c.Nodes {
		if err := n.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Leader returns the node that leads; nil if there is none.
func (c *Cluster) Leader(ctx context.Context) *Node {
	id := Leader(ctx, c.Nodes)
	if i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.ID == id }); i >= 0 {
		return c.Nodes[i]
	}
	return nil
}

// WaitLeader waits until a node other than not (which may be nil) leads.
func (c *Cluster) WaitLeader(ctx context.Context, not *Node) (leader *Node, err error) {
	err = Until(ctx, "there is a leader", func() bool {
		leader = c.Leader(ctx)
		return leader != nil && leader != not
	})
	return leader, err
}

// Replace deletes the data of a node that has ended, and puts a new one into its place in
// Nodes, which serves the same RESPAddr. That joins when it is started and added.
func (c *Cluster) Replace(old *Node) (*Node, error) {
	fresh, err := c.newNode()
	if err != nil {
		return nil, err
	}
	fresh.RESPAddr = old.RESPAddr
	fresh.Args = append(fresh.Args, "--join")
	c.Nodes[slices.Index(c.Nodes, old)] = fresh
	return fresh, os.RemoveAll(old.Dir)
}

// Each does something to all nodes at the same time.
func Each(nodes []*Node, do func(*Node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// KillAll kills all nodes that run.
func (c *Cluster) KillAll() {
	Each(c.Nodes, (*Node).Kill)
}

// Close kills what still runs.
func (c *Cluster) Close() {
	c.KillAll()
	c.ports.Release()
}
