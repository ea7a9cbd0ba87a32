package httpapi

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"
)

// strangers are the connections over which no user has authenticated yet, the oldest
// first. They can be a quarter of all connections; the oldest gives way to the newest
// beyond that, so that a flood of them does not keep users out. A nil strangers has none.
type strangers struct {
	most int

	mu   sync.Mutex
	list list.List // of *boundedConn
}

// newStrangers returns those among connections of which there can be so many.
func newStrangers(connections int) *strangers {
	return &strangers{most: max(connections/4, 1)}
}

func (s *strangers) meet(c *boundedConn) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.stranger = s.list.PushBack(c)
}

// forget notes that c is a stranger no more.
func (s *strangers) forget(c *boundedConn) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stranger != nil {
		s.list.Remove(c.stranger)
		c.stranger = nil
	}
}

// makeRoom closes the oldest stranger if there cannot be one more.
func (s *strangers) makeRoom() {
	if s != nil {
		s.close(s.most)
	}
}

// giveWay closes the oldest stranger, and reports whether there was one.
func (s *strangers) giveWay() bool { return s != nil && s.close(1) }

// close closes the oldest stranger if there are so many at least.
func (s *strangers) close(atLeast int) bool {
	s.mu.Lock()
	if s.list.Len() < atLeast {
		s.mu.Unlock()
		return false
	}
	c := s.list.Remove(s.list.Front()).(*boundedConn)
	c.stranger = nil
	s.mu.Unlock()
	c.l.m.refused.Inc()
	_ = c.Close()
	return true
}

// connKey is the key of a request's *boundedConn in its context.
type connKey struct{}

// noteConn lets requests know their connection.
func noteConn(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// known notes that a user has authenticated over the request's connection.
func (c *call) known() {
	if conn, ok := c.ctx.Value(connKey{}).(*boundedConn); ok {
		conn.l.strangers.forget(conn)
	}
}

// limitBody limits the time that a client takes to send a body, whether it is read or
// dropped after the response.
func (c *call) limitBody() {
	if c.request.ContentLength != 0 {
		_ = c.out.rc.SetReadDeadline(time.Now().Add(c.server.cfg.BodyTime))
	}
}
