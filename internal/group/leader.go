package group

import (
	"sync"
	"sync/atomic"
)

// KnownLeader is what this node knows about who leads. It is written by one
// goroutine, which follows Raft, and read by any.
type KnownLeader struct {
	Self string // the node's id

	mu      sync.Mutex
	id      string        // of the leader; empty: none is known
	serving uint64        // the own term, once an entry of it is applied; else 0
	changed chan struct{} // closed at the next change of the above

	Changes atomic.Uint64 // leaders seen
}

// NewKnownLeader returns what a node knows at its start: nothing.
func NewKnownLeader(self string) *KnownLeader {
	return &KnownLeader{Self: self, changed: make(chan struct{})}
}

// Leader returns the leader's id, empty if none is known, and a channel that is closed when that, or
// whether it serves, changes.
func (l *KnownLeader) Leader() (id string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.changed
}

// Serves returns the term in which this node leads and may serve reads, else 0.
func (l *KnownLeader) Serves() (serving uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving, l.changed
}

// SetLeader notes who leads; empty: no leader is known.
func (l *KnownLeader) SetLeader(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == l.id {
		return
	}
	if id != "" {
		l.Changes.Add(1)
	}
	l.id = id
	l.announceLocked()
}

// SetServing notes the term in which this node leads and has applied an entry, 0 if there is none.
func (l *KnownLeader) SetServing(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if term != l.serving {
		l.serving = term
		l.announceLocked()
	}
}

// Announce has everybody who waits for a change look again.
func (l *KnownLeader) Announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announceLocked()
}

func (l *KnownLeader) announceLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}
