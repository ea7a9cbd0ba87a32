package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/turnlog/turnlog/internal/testcluster"
	"github.com/turnlog/turnlog/turn"
)

// Checksum asks for a hash of the state at one log index, on every node. The
// hashes appear in the nodes' Status.
func (n *Node) Checksum(ctx context.Context) error {
	return n.Call(ctx, http.MethodPost, "/v1/cluster/checksum", nil, nil)
}

// Leader returns the node that leads, as most of the nodes that answer see it;
// nil if there is none.
func (c *Cluster) Leader(ctx context.Context) *Node {
	n, _ := c.Leadership(ctx)
	return n
}

// Leadership returns Leader, and the term in which it leads.
func (c *Cluster) Leadership(ctx context.Context) (*Node, uint64) {
	id, term := testcluster.Leadership(ctx, c.plain())
	n := c.Node(id)
	if n == nil || !n.Healthy() {
		return nil, 0
	}
	return n, term
}

// Followers returns the healthy nodes other than the leader.
func (c *Cluster) Followers(ctx context.Context) []*Node {
	leader := c.Leader(ctx)
	var out []*Node
	for _, n := range c.Nodes {
		if n != leader && n.Healthy() {
			out = append(out, n)
		}
	}
	return out
}

// WaitLeader waits until there is a leader other than not (which may be nil).
func (c *Cluster) WaitLeader(ctx context.Context, not *Node) (*Node, error) {
	var leader *Node
	err := testcluster.Until(ctx, "there is a leader", func() bool {
		leader = c.Leader(ctx)
		return leader != nil && leader != not
	})
	return leader, err
}

// WaitLevel waits until every node is at a cluster level. Until then, requests that need that level are rejected.
func (c *Cluster) WaitLevel(ctx context.Context, level turn.ClusterLevel) error {
	return testcluster.Until(ctx, fmt.Sprintf("all nodes are at cluster level %d", level), func() bool {
		for _, n := range c.Nodes {
			if s, err := n.Status(ctx); err != nil || s.Level < uint64(level) {
				return false
			}
		}
		return true
	})
}

// hashWait is how long a checksum is waited for before another is taken.
const hashWait = 5 * time.Second

// WaitHashes takes a checksum and waits until every node has the same one at
// the same index; it returns that, or says which nodes differ. A node that is sent
// a snapshot in the place of the checksum's log entry never shows it: then another
// is taken.
func (c *Cluster) WaitHashes(ctx context.Context) (testcluster.NodeStatus, error) {
	for {
		first, err := c.waitHashes(ctx)
		if err == nil || errors.Is(err, errStatesDiffer) || ctx.Err() != nil {
			return first, err
		}
	}
}

func (c *Cluster) waitHashes(ctx context.Context) (testcluster.NodeStatus, error) {
	var first testcluster.NodeStatus
	var problem error
	if err := testcluster.Until(ctx, "a checksum is taken", func() bool {
		for _, n := range c.Nodes {
			if n.Healthy() {
				problem = n.Checksum(ctx)
				break
			}
		}
		return problem == nil
	}); err != nil {
		return first, fmt.Errorf("%w (%v)", err, problem)
	}
	ctx, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	err := testcluster.Until(ctx, "all nodes show the same checksum", func() bool {
		first, problem = c.compareHashes(ctx)
		return problem == nil || errors.Is(problem, errStatesDiffer)
	})
	if err != nil {
		return first, fmt.Errorf("%w: %v", err, problem)
	}
	return first, problem
}

// errStatesDiffer is a broken promise, which no waiting mends.
var errStatesDiffer = errors.New("states differ")

func (c *Cluster) compareHashes(ctx context.Context) (testcluster.NodeStatus, error) {
	var first testcluster.NodeStatus
	for i, n := range c.Nodes {
		s, err := n.Status(ctx)
		if err != nil {
			return first, err
		}
		own := s.Node(n.ID)
		if own.StateHash == "" {
			return first, fmt.Errorf("%s shows no checksum", n.ID)
		}
		if i == 0 {
			first = own
		}
		if own.StateHash != first.StateHash && own.HashIndex == first.HashIndex {
			return first, fmt.Errorf("%w: after log entry %d, %s has the checksum %s, %s %s",
				errStatesDiffer, own.HashIndex, first.ID, first.StateHash, own.ID, own.StateHash)
		}
		if own.HashIndex != first.HashIndex {
			return first, fmt.Errorf("%s has %s at index %d, %s has %s at index %d",
				first.ID, first.StateHash, first.HashIndex, own.ID, own.StateHash, own.HashIndex)
		}
	}
	return first, nil
}
