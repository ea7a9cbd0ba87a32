package redis

import (
	"container/list"
	"sync"

	"github.com/turnlog/turnlog/internal/auth"
)

// strangers are the connections that have yet to authenticate, the oldest first.
// When there are too many, the newest replaces the oldest: a flood of connections cannot
// keep out a client that authenticates as soon as it is connected.
type strangers struct {
	mu   sync.Mutex
	list list.List // of *conn
}

// meet notes a stranger.
func (s *strangers) meet(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stranger == nil && !c.gaveWay {
		c.stranger = s.list.PushBack(c)
	}
}

// forget notes that c is a stranger no more, and reports whether it has had to give
// way to another.
func (s *strangers) forget(c *conn) (gaveWay bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stranger != nil {
		s.list.Remove(c.stranger)
		c.stranger = nil
	}
	return c.gaveWay
}

// oldest takes out the stranger that has been one for longest, if there are at least
// so many; nil if there are not. It gives way, and its descriptor with it.
func (s *strangers) oldest(atLeast int) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list.Len() < max(atLeast, 1) {
		return nil
	}
	c := s.list.Remove(s.list.Front()).(*conn)
	c.stranger, c.gaveWay = nil, true
	return c
}

// giveWay closes the oldest stranger if there are too many of them, or of all
// connections.
func (s *Server) giveWay() bool {
	most := s.maxClients()
	s.mu.Lock()
	full := len(s.conns) >= most
	s.mu.Unlock()
	atLeast := max(most/4, 1)
	if full {
		atLeast = 1
	}
	return s.closeOldest(atLeast)
}

// GiveWay closes the oldest stranger, and releases its descriptor for another listener.
// It reports whether there was one.
func (s *Server) GiveWay() bool {
	if !s.closeOldest(1) {
		return false
	}
	s.cfg.Descriptors.Release()
	return true
}

// closeOldest closes the oldest stranger if there are so many at least. The caller
// has its descriptor then.
func (s *Server) closeOldest(atLeast int) bool {
	c := s.strangers.oldest(atLeast)
	if c == nil {
		return false
	}
	s.mu.Lock()
	delete(s.conns, c.id)
	s.mu.Unlock()
	s.stats.rejected.Add(1)
	c.wire.cutOff()
	return true
}

// takeDescriptor takes a descriptor for a new connection: one that is left, or that of
// a stranger.
func (s *Server) takeDescriptor() bool {
	d := s.cfg.Descriptors
	for taken := s.giveWay() || d == nil || d.Take(); !taken; taken = d.Take() {
		if s.closeOldest(1) {
			return true
		}
		if !d.MakeRoom() {
			return false
		}
	}
	return true
}

func (s *strangers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.Len()
}

// mayStay reports whether a connection that has proved to be a user's may go on:
// the last connections are kept for administrators.
func (c *conn) mayStay(u *auth.User) bool {
	s := c.srv
	if u.May(auth.Admin) {
		return c.know(true)
	}
	most := s.maxClients()
	s.mu.Lock()
	known := len(s.conns) - s.strangers.count()
	s.mu.Unlock()
	return known < most-min(most/8, keptForAdmins) && c.know(false)
}

// know notes that the connection's descriptor is a user's, if it may be.
func (c *conn) know(administrator bool) bool {
	if d := c.srv.cfg.Descriptors; d != nil && !c.known {
		c.known = d.Know(administrator)
		return c.known
	}
	return true
}

// unknow undoes know.
func (c *conn) unknow() {
	if c.known {
		c.srv.cfg.Descriptors.Forget()
		c.known = false
	}
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32
