// Package strangers has the connections that have yet to authenticate, the oldest first.
// When there are too many, the newest replaces the oldest: a flood of connections cannot
// keep out a client that authenticates as soon as it is connected.
package strangers

import (
	"container/list"
	"sync"
)

// Queue has the strangers among the connections of a server, which are of type C. Any goroutine may
// call its methods. The zero Queue has none.
type Queue[C any] struct {
	mu   sync.Mutex
	list list.List // of *Place[C]
}

// Place is one connection's entry in the Queue. Its fields are guarded by Queue.mu. The zero
// Place is that of a connection that is no stranger.
type Place[C any] struct {
	conn    C
	element *list.Element // nil: it is no stranger, or has had to give way
	gaveWay bool
}

// Meet notes a stranger with its place.
func (q *Queue[C]) Meet(c C, p *Place[C]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.element == nil && !p.gaveWay {
		p.conn = c
		p.element = q.list.PushBack(p)
	}
}

// Forget notes that a connection is a stranger no more, and reports whether it has had to give
// way to another.
func (q *Queue[C]) Forget(p *Place[C]) (gaveWay bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.element != nil {
		q.list.Remove(p.element)
		p.element = nil
	}
	return p.gaveWay
}

// TakeOldest takes out the stranger that has been one for longest, if there are at least
// so many; ok is false if there are not. It gives way, and its descriptor with it.
func (q *Queue[C]) TakeOldest(atLeast int) (c C, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.list.Len() < max(atLeast, 1) {
		return c, false
	}
	p := q.list.Remove(q.list.Front()).(*Place[C])
	p.element, p.gaveWay = nil, true
	return p.conn, true
}

// Len returns the number of strangers.
func (q *Queue[C]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list.Len()
}
