package client

import (
	"slices"
	"sync"
	"time"
)

// How long a node that failed is passed over: doubled with each failure in a row.
const (
	badFirst = 50 * time.Millisecond
	badMost  = 2 * time.Second
)

// router knows the nodes and says which one the next request goes to: the
// leader if it is known, else the one that worked last.
type router struct {
	cfg *Config
	now func() time.Time

	mu      sync.Mutex
	nodes   []*node // those of Config.Addrs first
	current *node
	leader  *node     // nil: not known, or not followed
	asked   time.Time // when the leader was last asked for
	closed  bool
}

func newRouter(cfg *Config) *router {
	r := &router{cfg: cfg, now: time.Now}
	for _, a := range cfg.Addrs {
		r.nodeLocked(a)
	}
	r.current = r.nodes[0]
	return r
}

func (r *router) nodeLocked(addr string) *node {
	for _, n := range r.nodes {
		if n.addr == addr {
			return n
		}
	}
	n := newNode(addr, r.cfg)
	r.nodes = append(r.nodes, n)
	return n
}

// pick returns the node to try next.
func (r *router) pick() *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.leader != nil && !now.Before(r.leader.badUntil) {
		return r.leader
	}
	if !now.Before(r.current.badUntil) {
		return r.current
	}
	// The one whose time of disgrace ends first; a node that never failed has none.
	r.current = slices.MinFunc(r.nodes, func(a, b *node) int { return a.badUntil.Compare(b.badUntil) })
	return r.current
}

// failed notes that n gave no useful answer.
func (r *router) failed(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := min(badFirst<<min(n.failures, 10), badMost)
	n.failures++
	n.badUntil = r.now().Add(pause)
	if r.leader == n {
		r.leader = nil
		r.asked = time.Time{} // ask again soon
	}
}

// worked notes that n answered.
func (r *router) worked(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.failures = 0
	n.badUntil = time.Time{}
}

// size is how many nodes there are.
func (r *router) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes)
}

// askLeader reports whether the caller should find out who leads, which is so
// for one caller in a period.
func (r *router) askLeader() bool {
	if !r.cfg.FollowLeader {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	period := leaderKnown
	if r.leader == nil {
		period = leaderMissing
	}
	if r.closed || r.now().Sub(r.asked) < period {
		return false
	}
	r.asked = r.now()
	return true
}

const (
	leaderKnown   = 5 * time.Second        // how often a known leader is confirmed
	leaderMissing = 100 * time.Millisecond // how often an unknown one is asked for
)

// learn takes over what the cluster says of itself. An empty leader: none known.
func (r *router) learn(leader string, addrs []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	for _, a := range addrs {
		r.nodeLocked(a)
	}
	r.leader = nil
	if leader != "" {
		r.leader = r.nodeLocked(leader)
	}
}

// close ends every connection.
func (r *router) close() {
	r.mu.Lock()
	nodes := r.nodes
	r.closed = true
	r.mu.Unlock()
	for _, n := range nodes {
		n.close()
	}
}
