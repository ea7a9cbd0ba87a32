package peer

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// greetings are the accepted connections in their handshake, oldest first. Its methods
// may be called by any goroutine.
type greetings struct {
	max int

	mu    sync.Mutex
	conns list.List // of net.Conn
}

// enter adds a connection, until leave is called. It returns the oldest, which is no
// longer counted and which the caller closes, if there are too many.
func (g *greetings) enter(c net.Conn) (leave func(), oldest net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns.Len() >= g.max {
		oldest = g.conns.Remove(g.conns.Front()).(net.Conn)
	}
	e := g.conns.PushBack(c)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns.Remove(e) // if it is still there
	}, oldest
}

// throttle says when to log what strangers can make happen as often as they like.
// Its methods may be called by any goroutine.
type throttle struct {
	mu    sync.Mutex
	last  time.Time
	count int
}

// pass reports whether to log at now, at most once a second, and how often it happened
// since the last time.
func (t *throttle) pass(now time.Time) (count int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	if now.Sub(t.last) < time.Second {
		return 0, false
	}
	count, t.last, t.count = t.count, now, 0
	return count, true
}
