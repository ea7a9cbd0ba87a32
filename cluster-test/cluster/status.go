package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/admintoken"
)

// Status is the cluster as one node sees it, from GET /v1/cluster.
type Status struct {
	ID     string       `json:"id"`
	Leader string       `json:"leader"`
	Term   uint64       `json:"term"`
	Nodes  []NodeStatus `json:"nodes"`
}

// NodeStatus is a member of the cluster.
type NodeStatus struct {
	ID        string `json:"id"`
	Role      string `json:"role"`
	Applied   uint64 `json:"applied"`
	Match     uint64 `json:"match"`
	Reachable bool   `json:"reachable"`
	StateHash string `json:"state_hash"`
	HashIndex uint64 `json:"hash_index"`
}

// tester is the tester's own way to the nodes, past the clients' proxies. Its
// timeout suits changes of membership; most callers set a shorter one.
var tester = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// glance is how long a node may take to tell about itself.
const glance = 2 * time.Second

// Status asks n for its view of the cluster.
func (n *Node) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	var s Status
	err := n.call(ctx, http.MethodGet, "/v1/cluster", &s)
	return s, err
}

// Ready reports whether n says that it serves requests.
func (n *Node) Ready(ctx context.Context) bool { return n.notReady(ctx) == nil }

// notReady returns what n says that it waits for, nil if it serves requests.
func (n *Node) notReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	return n.call(ctx, http.MethodGet, "/readyz", nil)
}

// Checksum asks for a hash of the state at one log index, on every node. The
// hashes appear in the nodes' Status.
func (n *Node) Checksum(ctx context.Context) error {
	return n.call(ctx, http.MethodPost, "/v1/cluster/checksum", nil)
}

// Snapshot has the node take a snapshot and truncate its log.
func (n *Node) Snapshot(ctx context.Context) error {
	return n.call(ctx, http.MethodPost, "/v1/cluster/snapshot", nil)
}

// Transfer has the node, which leads, hand over leadership.
func (n *Node) Transfer(ctx context.Context) error {
	return n.call(ctx, http.MethodPost, "/v1/cluster/transfer", nil)
}

// Remove asks n to end the membership of another node.
func (n *Node) Remove(ctx context.Context, other *Node) error {
	return n.call(ctx, http.MethodDelete, "/v1/cluster/nodes?id="+other.ID, nil)
}

// Add asks n to make another node, which runs without data, a member.
func (n *Node) Add(ctx context.Context, other *Node) error {
	body := fmt.Sprintf(`{"id":%q,"raft_addr":%q}`, other.ID, other.RaftAddr)
	return n.send(ctx, http.MethodPost, "/v1/cluster/nodes", strings.NewReader(body), nil)
}

func (n *Node) call(ctx context.Context, method, path string, into any) error {
	return n.send(ctx, method, path, nil, into)
}

// request is one that an administrator makes, past the proxies.
func (n *Node) request(ctx context.Context, method, path string, content io.Reader) (*http.Request, error) {
	scheme := "http://"
	if n.security != nil {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+n.HTTPAddr+path, content)
	if err != nil {
		return nil, err
	}
	if n.security == nil {
		admintoken.Authorize(req, n.Dir)
		return req, nil
	}
	e := n.security.entry(Operator)
	req.SetBasicAuth(e.User, e.Password)
	return req, nil
}

func (n *Node) client() *http.Client {
	if n.security == nil {
		return tester
	}
	return n.security.http
}

// send makes a request and decodes the answer into into, unless that is nil.
func (n *Node) send(ctx context.Context, method, path string, content io.Reader, into any) error {
	req, err := n.request(ctx, method, path, content)
	if err != nil {
		return err
	}
	resp, err := n.client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s %s: %s: %s", n.ID, method, path, resp.Status, body)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s %s %s: %w in %s", n.ID, method, path, err, body)
	}
	return nil
}

// Leader returns the node that leads, as most of the nodes that answer see it;
// nil if there is none.
func (c *Cluster) Leader(ctx context.Context) *Node {
	type vote struct {
		leader string
		term   uint64
	}
	votes := make(chan vote, len(c.Nodes))
	for _, n := range c.Nodes {
		go func() {
			if !n.Healthy() {
				votes <- vote{}
				return
			}
			s, _ := n.Status(ctx)
			votes <- vote{s.Leader, s.Term}
		}()
	}
	var latest vote
	for range c.Nodes {
		if v := <-votes; v.leader != "" && v.term >= latest.term {
			latest = v
		}
	}
	n := c.Node(latest.leader)
	if n == nil || !n.Healthy() {
		return nil
	}
	return n
}

// Followers are the healthy nodes other than the leader.
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

// poll is how often the cluster is asked whether it has got somewhere.
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

// WaitReady waits until every running node serves requests.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, n := range c.Nodes {
		if !n.Healthy() {
			continue
		}
		var problem error
		err := Until(ctx, n.ID+" is ready", func() bool {
			err := n.notReady(ctx)
			if err != nil && ctx.Err() == nil {
				problem = err
			}
			return err == nil
		})
		if err != nil {
			return fmt.Errorf("%w: %v", err, problem)
		}
	}
	return nil
}

// WaitLeader waits until there is a leader other than not (which may be nil).
func (c *Cluster) WaitLeader(ctx context.Context, not *Node) (*Node, error) {
	var leader *Node
	err := Until(ctx, "there is a leader", func() bool {
		leader = c.Leader(ctx)
		return leader != nil && leader != not
	})
	return leader, err
}

// hashWait is how long a checksum is waited for before another is taken.
const hashWait = 5 * time.Second

// WaitHashes takes a checksum and waits until every node has the same one at
// the same index; it returns that, or says which nodes differ. A node that is sent
// a snapshot in the place of the checksum's log entry never shows it: then another
// is taken.
func (c *Cluster) WaitHashes(ctx context.Context) (NodeStatus, error) {
	for {
		first, err := c.waitHashes(ctx)
		if err == nil || errors.Is(err, errStatesDiffer) || ctx.Err() != nil {
			return first, err
		}
	}
}

func (c *Cluster) waitHashes(ctx context.Context) (NodeStatus, error) {
	var first NodeStatus
	var problem error
	if err := Until(ctx, "a checksum is taken", func() bool {
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
	err := Until(ctx, "all nodes show the same checksum", func() bool {
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

func (c *Cluster) compareHashes(ctx context.Context) (NodeStatus, error) {
	var first NodeStatus
	for i, n := range c.Nodes {
		s, err := n.Status(ctx)
		if err != nil {
			return first, err
		}
		own := s.node(n.ID)
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

func (s Status) node(id string) NodeStatus {
	for _, n := range s.Nodes {
		if n.ID == id {
			return n
		}
	}
	return NodeStatus{ID: id}
}
