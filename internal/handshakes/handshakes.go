// Package handshakes bounds the TLS handshakes that take place at one time, since each takes memory and computing time
// for a client that has not authenticated yet.
//
// Handshakes beyond the bound wait in the order in which they came. If others wait, those whose clients are slow on
// purpose are ended; the time that the server itself needed does not count. Any goroutine may use a Limit.
package handshakes

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"
)

const (
	// Max is how many handshakes take place at one port at a time. Each can take up
	// some 200 KiB, by a first message of 64 KiB that does not end.
	Max = 256
	// enough is how long a handshake may wait for its client. One that waits for longer
	// gives way when others wait for their turn: with 256 that are slow on purpose, it
	// comes to 850 in a second. The time that computing takes, or waiting for a
	// processor, is not the client's.
	enough = 300 * time.Millisecond
	// again is how often handshakes are looked for that have had their time, while others
	// wait.
	again = 20 * time.Millisecond
)

// Limit lets a number of handshakes take place at a time. When many clients connect at
// once, they wait for each other, and each has its turn in the order of coming; clients
// that are slow on purpose give way. Its methods may be called by any goroutine.
type Limit struct {
	max int

	mu      sync.Mutex
	taken   int
	queue   list.List // of chan struct{}, which is closed when it has a place
	now     list.List // of *handshake, oldest first
	looking bool      // giveWay will be called
}

type handshake struct {
	conn  net.Conn
	began time.Time
}

// waitedFor returns how long the handshake has waited for the client, as far as known.
func (h *handshake) waitedFor() time.Duration {
	if c, ok := h.conn.(*Conn); ok {
		return c.waitedFor()
	}
	return time.Since(h.began)
}

// New returns a Limit for so many handshakes.
func New(max int) *Limit { return &Limit{max: max} }

// Enter waits until a handshake with conn may begin. The caller calls leave when it is
// over, whether it succeeded or not. If its client is slow, conn may be closed meanwhile.
// The error is that of ctx.
func (l *Limit) Enter(ctx context.Context, conn net.Conn) (leave func(), err error) {
	turn, place := l.enqueue()
	if place == nil {
		return l.begin(conn), nil
	}
	select {
	case <-turn:
		return l.begin(conn), nil
	case <-ctx.Done():
		l.dequeue(turn, place)
		return nil, ctx.Err()
	}
}

// enqueue takes a place, or else one in the queue, which is not nil then.
func (l *Limit) enqueue() (turn chan struct{}, place *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken < l.max {
		l.taken++
		return nil, nil
	}
	if !l.looking {
		l.looking = true
		time.AfterFunc(0, l.giveWay)
	}
	turn = make(chan struct{})
	return turn, l.queue.PushBack(turn)
}

// dequeue gives up a turn, and the place if it has come meanwhile.
func (l *Limit) dequeue(turn chan struct{}, place *list.Element) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-turn:
		l.release()
	default:
		l.queue.Remove(place)
	}
}

// release gives a place to the first in the queue. It is called with mu held.
func (l *Limit) release() {
	if first := l.queue.Front(); first != nil {
		close(l.queue.Remove(first).(chan struct{}))
		return
	}
	l.taken--
}

func (l *Limit) begin(conn net.Conn) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.now.PushBack(&handshake{conn, time.Now()})
	return func() {
		if c, ok := conn.(*Conn); ok {
			c.over.Store(true)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now.Remove(e) // if it did not give way
		l.release()
	}
}

// giveWay closes the connections of the oldest handshakes whose clients are too slow, one
// for each that waits, and looks again while any does.
func (l *Limit) giveWay() {
	for _, h := range l.slow() {
		_ = h.conn.Close()
	}
}

// slow takes out the handshakes that are to give way.
func (l *Limit) slow() (slow []*handshake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looking = l.queue.Len() > 0; l.looking {
		time.AfterFunc(again, l.giveWay)
	}
	for e := l.now.Front(); e != nil && len(slow) < l.queue.Len(); {
		h, this := e.Value.(*handshake), e
		if e = e.Next(); time.Since(h.began) < enough {
			break // as have all that began later
		}
		if h.waitedFor() >= enough {
			slow = append(slow, l.now.Remove(this).(*handshake))
		}
	}
	return slow
}

// Count returns how many handshakes take place now.
func (l *Limit) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken
}
