package auth

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// queue decides which password is hashed next. Hashing is expensive by design, and a flood
// of wrong passwords must not keep users out. So a waiter whose password resembles one that
// was verified before goes first; otherwise addresses take turns, and the names of an
// address do.
type queue struct {
	bounds queueBounds

	mu     sync.Mutex
	free   int // slots
	clock  uint64
	likely []*waiter
	hosts  map[string]*hostQueue // only those with waiters
	count  int                   // waiters in hosts
}

type queueBounds struct {
	slots                         int
	likely, total, ofHost, ofPair int // waiters
}

// hashSlots is how many passwords are hashed at a time: at most two, and on at most half of
// the processors.
func hashSlots() int { return min(max(runtime.GOMAXPROCS(0)/2, 1), 2) }

func defaultBounds() queueBounds {
	return queueBounds{slots: hashSlots(), likely: 256, total: 1024, ofHost: 128, ofPair: 8}
}

type waiter struct {
	host, name string
	ready      chan struct{} // closed when the waiter has a slot
}

// hostQueue holds the waiters of one address.
type hostQueue struct {
	turn  uint64 // the lowest is served next
	names map[string]*nameQueue
	count int
}

// nameQueue holds the waiters of one address and name, in the order of their arrival.
type nameQueue struct {
	turn    uint64
	waiters []*waiter
}

func newQueue(b queueBounds) *queue {
	return &queue{bounds: b, free: b.slots, hosts: make(map[string]*hostQueue)}
}

// enter waits for a slot for at most maxWait. ok is false if there was none, or if too
// many wait already; otherwise the caller must call leave.
func (q *queue) enter(from, name string, likely bool, maxWait time.Duration) (ok bool) {
	host, _, err := net.SplitHostPort(from)
	if err != nil {
		host = from
	}
	w := &waiter{host: host, name: name, ready: make(chan struct{})}
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return true
	}
	if !q.pushLocked(w, likely) {
		q.mu.Unlock()
		return false
	}
	q.mu.Unlock()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-w.ready:
		return true
	case <-timer.C:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.ready: // at this moment
		return true
	default:
		q.removeLocked(w)
		return false
	}
}

// leave gives a slot back.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.popLocked(); w != nil {
		close(w.ready)
		return
	}
	q.free++
}

func (q *queue) pushLocked(w *waiter, likely bool) bool {
	if likely && len(q.likely) < q.bounds.likely {
		q.likely = append(q.likely, w)
		return true
	}
	h := q.hosts[w.host]
	if q.count == q.bounds.total || h != nil && h.count == q.bounds.ofHost {
		return false
	}
	q.clock++
	if h == nil {
		h = &hostQueue{turn: q.clock, names: make(map[string]*nameQueue)}
		q.hosts[w.host] = h
	}
	n := h.names[w.name]
	if n == nil {
		n = &nameQueue{turn: q.clock}
		h.names[w.name] = n
	}
	if len(n.waiters) == q.bounds.ofPair {
		return false
	}
	n.waiters = append(n.waiters, w)
	h.count++
	q.count++
	return true
}

// popLocked removes and returns the next waiter, nil if there is none.
func (q *queue) popLocked() *waiter {
	if len(q.likely) > 0 {
		w := q.likely[0]
		q.likely = q.likely[1:]
		return w
	}
	var host *hostQueue
	for _, h := range q.hosts {
		if host == nil || h.turn < host.turn {
			host = h
		}
	}
	if host == nil {
		return nil
	}
	var name *nameQueue
	for _, n := range host.names {
		if name == nil || n.turn < name.turn {
			name = n
		}
	}
	w := name.waiters[0]
	q.clock++
	host.turn, name.turn = q.clock, q.clock
	q.removeLocked(w)
	return w
}

func (q *queue) removeLocked(w *waiter) {
	for i, l := range q.likely {
		if l == w {
			q.likely = append(q.likely[:i:i], q.likely[i+1:]...)
			return
		}
	}
	h := q.hosts[w.host]
	n := h.names[w.name]
	for i := range n.waiters {
		if n.waiters[i] == w {
			n.waiters = append(n.waiters[:i:i], n.waiters[i+1:]...)
			break
		}
	}
	h.count--
	q.count--
	if len(n.waiters) == 0 {
		delete(h.names, w.name)
	}
	if h.count == 0 {
		delete(q.hosts, w.host)
	}
}
