package redis

import (
	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/server/redis/strangers"
)

// admission holds what an open connection occupies: its entry in the queue of unauthenticated connections, which any
// goroutine may ask about, and its descriptor.
type admission struct {
	place       strangers.Place[*conn]
	descriptors Descriptors // nil: they are not bounded
	known       bool        // the descriptor is noted as a user's
}

// know notes that the connection's descriptor is a user's, if it may be.
func (a *admission) know(administrator bool) bool {
	if a.descriptors != nil && !a.known {
		a.known = a.descriptors.Know(administrator)
		return a.known
	}
	return true
}

// unknow undoes know.
func (a *admission) unknow() {
	if a.known {
		a.descriptors.Forget()
		a.known = false
	}
}

// maxClients is how many connections may be open at the moment.
func (s *Server) maxClients() int {
	if s.cfg.Descriptors == nil {
		return s.cfg.MaxClients
	}
	return min(s.cfg.MaxClients, s.cfg.Descriptors.Size())
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
	c, ok := s.strangers.TakeOldest(atLeast)
	if !ok {
		return false
	}
	s.mu.Lock()
	delete(s.conns, c.client.ID)
	s.mu.Unlock()
	s.stats.rejected.Add(1)
	c.wire.CutOff()
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

// mayStay reports whether a connection that has proved to be a user's may go on:
// the last connections are kept for administrators.
func (s *Server) mayStay(a *admission, u *auth.User) bool {
	if u.May(auth.Admin) {
		return a.know(true)
	}
	most := s.maxClients()
	s.mu.Lock()
	known := len(s.conns) - s.strangers.Len()
	s.mu.Unlock()
	return known < most-min(most/8, keptForAdmins) && a.know(false)
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32
