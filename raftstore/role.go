package raftstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watchRole follows who leads, and begins and ends this node's leader terms.
func (n *Node) watchRole(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var lt *leaderTerm
	for {
		leading, term, _ := n.raft.state()
		if lt != nil && (!leading || lt.Number != term || lt.Ended()) && n.endTerm(lt) {
			lt = nil
		}
		if leading && lt == nil && !n.halted() {
			lt = n.beginTerm(ctx, term)
		}
		n.lead.setLeader(n.leaderID(leading))
		n.syncPeers()
		n.waiter.look()
		select {
		case <-ctx.Done():
			if lt != nil {
				n.awaitEnd(lt)
			}
			return
		case <-n.signals.roleChanged:
		case <-tick.C:
		}
	}
}

// halted reports whether the state machine applies nothing.
func (n *Node) halted() bool {
	_, halted := n.state.Damage()
	return halted
}

func (n *Node) leaderID(leading bool) string {
	if leading {
		return n.id
	}
	id := n.raft.leader()
	if id == n.id {
		return "" // it has just stepped down, or not quite up
	}
	return id
}

// syncPeers keeps connections to all other servers of the configuration, and ends those
// of nodes that are not members any more.
func (n *Node) syncPeers() {
	addrs, members := make(map[string]string), make(map[string]bool)
	for _, s := range n.raft.configuration() {
		members[s.ID] = true
		if s.ID != n.id {
			addrs[s.ID] = s.Addr
		}
	}
	n.net.SetPeers(addrs)
	n.offsets.Keep(members)
	n.policy.Follow(members, time.Now())
	n.net.Cut(n.policy.Outsider)
}

// knownLeader is what this node knows about who leads. It is written by the
// Node's leadership goroutine and read by any.
type knownLeader struct {
	self string

	mu      sync.Mutex
	id      string        // of the leader; empty: none is known
	serving uint64        // the own term, once an entry of it is applied; else 0
	changed chan struct{} // closed at the next change of the above

	changes atomic.Uint64 // leaders seen
}

func newKnownLeader(self string) *knownLeader {
	return &knownLeader{self: self, changed: make(chan struct{})}
}

// leader returns the leader's id and a channel that is closed when that, or
// whether it serves, changes.
func (l *knownLeader) leader() (id string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.changed
}

// Leader returns the leader's id, empty if none is known, and a channel that is
// closed when that may have changed.
func (n *Node) Leader() (id string, changed <-chan struct{}) { return n.lead.leader() }

// serves returns the term in which this node leads and may serve reads, else 0.
func (l *knownLeader) serves() (serving uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving, l.changed
}

func (l *knownLeader) setLeader(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == l.id {
		return
	}
	if id != "" {
		l.changes.Add(1)
	}
	l.id = id
	l.announceLocked()
}

func (l *knownLeader) setServing(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if term != l.serving {
		l.serving = term
		l.announceLocked()
	}
}

// announce has everybody who waits for a change look again.
func (l *knownLeader) announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announceLocked()
}

func (l *knownLeader) announceLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}
