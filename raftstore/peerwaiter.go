package raftstore

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// peerWaiter has replication wait for a node that there is no connection to.
//
// When a message fails, Raft tries again after a pause, each twice as long as the
// one before, up to ten seconds, and takes no notice of the node's return
// meanwhile. A message that waits for the connection does not fail, and goes out
// as soon as it is made.
type peerWaiter struct {
	// worth reports whether there is still reason to wait for a node.
	worth     func(id string) bool
	connected func(id string) bool

	mu      sync.Mutex
	changed chan struct{} // closed when something may have changed
	closed  bool
}

func newPeerWaiter(worth, connected func(id string) bool) *peerWaiter {
	return &peerWaiter{worth: worth, connected: connected, changed: make(chan struct{})}
}

// await waits until a node is connected. It fails when there is no more reason to.
func (r *peerWaiter) await(id string) error {
	for {
		r.mu.Lock()
		changed, closed := r.changed, r.closed
		r.mu.Unlock()
		switch {
		case r.connected(id):
			return nil
		case closed || !r.worth(id):
			return fmt.Errorf("node %s is not connected", id)
		}
		<-changed
	}
}

// look has everybody who waits look again.
func (r *peerWaiter) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// close ends all waiting.
func (r *peerWaiter) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.look()
}

// replicates reports whether this node leads, and has to send another its log.
func (n *Node) replicates(id string) bool {
	if leading, _, _ := n.raftState(); !leading {
		return false
	}
	for _, s := range n.configuration().Servers {
		if s.ID == raft.ServerID(id) {
			return true
		}
	}
	return false
}
