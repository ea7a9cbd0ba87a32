package raftstore

import (
	"sync"
	"sync/atomic"
)

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
