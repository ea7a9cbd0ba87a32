package peer

import (
	"container/list"
	"net"
	"sync"
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
