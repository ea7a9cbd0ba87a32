package redis

import (
	"container/list"
	"sync"

	"github.com/turnlog/turnlog/access"
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
	c := s.strangers.oldest(atLeast)
	if c == nil {
		return false
	}
	s.mu.Lock()
	delete(s.conns, c.id)
	s.mu.Unlock()
	s.stats.rejected.Add(1)
	c.wire.nc.Close()
	return true
}

func (s *strangers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.Len()
}

// mayStay reports whether a connection that has proved to be a user's may go on:
// the last connections are kept for administrators.
func (s *Server) mayStay(u *access.User) bool {
	if u.May(access.Admin) {
		return true
	}
	most := s.maxClients()
	s.mu.Lock()
	known := len(s.conns) - s.strangers.count()
	s.mu.Unlock()
	return known < most-min(most/8, keptForAdmins)
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32
