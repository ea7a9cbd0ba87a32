package httpapi

import (
	"container/list"
	"sync"
)

// strangers are the connections over which no user has authenticated yet, the oldest
// first. They can be a quarter of all connections; the oldest gives way to the newest
// beyond that, so that a flood of them does not keep users out. So it does when the
// heads of their requests take too much memory. A nil strangers has none.
type strangers struct {
	connections int // that there can be
	most        int
	mostBytes   int64

	mu    sync.Mutex
	list  list.List // of *boundedConn
	bytes int64     // of heads
}

// newStrangers returns those among connections of which there can be so many, beside
// so many bytes for the bodies of users.
func newStrangers(connections int, bodies int64) *strangers {
	return &strangers{connections: connections, most: max(connections/4, 1), mostBytes: bodies / 16}
}

func (s *strangers) meet(c *boundedConn) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.stranger = s.list.PushBack(c)
}

// forget notes that c has ended, and reports whether it was a user's.
func (s *strangers) forget(c *boundedConn) (known bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stranger != nil {
		s.remove(c)
	}
	return c.known.Load()
}

// remove is called with mu held.
func (s *strangers) remove(c *boundedConn) {
	s.list.Remove(c.stranger)
	s.bytes -= c.held
	c.stranger, c.held = nil, 0
}

func (s *strangers) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes > s.mostBytes
}

// settle notes that a request has ended, and with it its head.
func (s *strangers) settle(c *boundedConn) {
	if s == nil || c.known.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= c.held
	c.held = 0
}
