package testcluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Status is the cluster as one node sees it, from GET /v1/cluster.
type Status struct {
	ID     string       `json:"id"`
	Leader string       `json:"leader"`
	Term   uint64       `json:"term"`
	Level  uint64       `json:"level"`
	Nodes  []NodeStatus `json:"nodes"`
}

// NodeStatus is a member of the cluster.
type NodeStatus struct {
	ID        string `json:"id"`
	Role      string `json:"role"`
	Applied   uint64 `json:"applied"`
	Match     uint64 `json:"match"`
	Reachable bool   `json:"reachable"`
	Voter     bool   `json:"voter"`
	StateHash string `json:"state_hash"`
	HashIndex uint64 `json:"hash_index"`
}

// Node is what s says of a node; without a state hash if it says nothing.
func (s Status) Node(id string) NodeStatus {
	for _, n := range s.Nodes {
		if n.ID == id {
			return n
		}
	}
	return NodeStatus{ID: id}
}

// Status asks n for its view of the cluster.
func (n *Node) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	var s Status
	err := n.Call(ctx, http.MethodGet, "/v1/cluster", nil, &s)
	return s, err
}

// Ready reports whether n says that it serves requests.
func (n *Node) Ready(ctx context.Context) bool { return n.notReady(ctx) == nil }

// notReady returns what n says that it waits for, nil if it serves requests.
func (n *Node) notReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	return n.Call(ctx, http.MethodGet, "/readyz", nil, nil)
}

// WaitReady waits until the node serves requests. That it ends by itself is an error.
func (n *Node) WaitReady(ctx context.Context) error {
	var problem, died error
	err := Until(ctx, n.ID+" is ready", func() bool {
		err := n.notReady(ctx)
		if err != nil && ctx.Err() == nil {
			problem, died = err, n.Died()
		}
		return err == nil || died != nil
	})
	if err != nil {
		return fmt.Errorf("%w: %v", err, problem)
	}
	return died
}

// Snapshot has the node take a snapshot and truncate its log.
func (n *Node) Snapshot(ctx context.Context) error {
	return n.Call(ctx, http.MethodPost, "/v1/cluster/snapshot", nil, nil)
}

// Transfer has the node, which leads, hand over leadership.
func (n *Node) Transfer(ctx context.Context) error {
	return n.Call(ctx, http.MethodPost, "/v1/cluster/transfer", nil, nil)
}

// Remove asks n to end the membership of another node.
func (n *Node) Remove(ctx context.Context, other *Node) error {
	return n.Call(ctx, http.MethodDelete, "/v1/cluster/nodes?id="+url.QueryEscape(other.ID), nil, nil)
}

// Add asks n to make another node, which runs without data, a member.
func (n *Node) Add(ctx context.Context, other *Node) error {
	member := map[string]string{"id": other.ID, "raft_addr": other.RaftAddr}
	return n.Call(ctx, http.MethodPost, "/v1/cluster/nodes", member, nil)
}

// AddLearner asks n to make another node, which runs without data, a member without a vote.
func (n *Node) AddLearner(ctx context.Context, other *Node) error {
	member := map[string]any{"id": other.ID, "raft_addr": other.RaftAddr, "learner": true}
	return n.Call(ctx, http.MethodPost, "/v1/cluster/nodes", member, nil)
}

// Promote asks n to give another node, a learner, a vote.
func (n *Node) Promote(ctx context.Context, other *Node) error {
	return n.Call(ctx, http.MethodPost, "/v1/cluster/promote", map[string]string{"id": other.ID}, nil)
}

// Demote asks n to make another node, a voter, a learner.
func (n *Node) Demote(ctx context.Context, other *Node) error {
	return n.Call(ctx, http.MethodPost, "/v1/cluster/demote", map[string]string{"id": other.ID}, nil)
}

// Leader returns the id of the node that leads, as those of the nodes say that can act;
// empty if there is none.
func Leader(ctx context.Context, nodes []*Node) string {
	leader, _ := Leadership(ctx, nodes)
	return leader
}

// Leadership returns Leader, and the term in which it leads.
func Leadership(ctx context.Context, nodes []*Node) (leader string, term uint64) {
	answers := make(chan Status, len(nodes))
	for _, n := range nodes {
		go func() { // ends within the time for a glance
			if !n.Healthy() {
				answers <- Status{}
				return
			}
			s, _ := n.Status(ctx)
			answers <- s
		}()
	}
	var latest Status
	for range nodes {
		if s := <-answers; s.Leader != "" && s.Term >= latest.Term {
			latest = s
		}
	}
	return latest.Leader, latest.Term
}

// poll is how often Until asks.
const poll = 20 * time.Millisecond

// Until asks again and again until done says yes or ctx ends.
func Until(ctx context.Context, what string, done func() bool) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}
