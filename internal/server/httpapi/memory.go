package httpapi

import (
	"sync"

	"github.com/turnlog/turnlog/internal/server/admission"
	"github.com/turnlog/turnlog/internal/server/memory"
	"github.com/turnlog/turnlog/turn"
)

// who names whose share of the memory for bodies and answers the call takes from.
func (c *call) who() string { return memory.Who(c.login.Name, c.request.RemoteAddr) }

// hold reserves n bytes, or gives up -n of them, until the call ends.
func (c *call) hold(n int64) error {
	if !c.server.memory.Take(c.who(), n) {
		return turn.Errorf(turn.Overloaded, "too many large requests at once; try again")
	}
	c.held += n
	return nil
}

// headMemory bounds what the heads of requests take over connections on which no user has authenticated: beyond it,
// the oldest of these connections give way. A nil headMemory has no bound.
type headMemory struct {
	most      int64
	admission *admission.Control

	mu    sync.Mutex
	bytes int64
}

// hold notes that the head of a request takes so many bytes more.
func (m *headMemory) hold(c *boundedConn, bytes int) {
	if m == nil || c.place.Authenticated() {
		return
	}
	m.mu.Lock()
	if !c.released && !c.place.Authenticated() {
		c.held += int64(bytes)
		m.bytes += int64(bytes)
	}
	m.mu.Unlock()
	for m.full() && m.admission.CloseOldest(2) {
	}
}

func (m *headMemory) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes > m.most
}

// settle notes that the connection's request has ended, and with it its head.
func (m *headMemory) settle(c *boundedConn) {
	if m != nil && !c.place.Authenticated() {
		m.giveBack(c, false)
	}
}

// giveBack gives back what the connection's heads hold; closed: for good.
func (m *headMemory) giveBack(c *boundedConn, closed bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes -= c.held
	c.held, c.released = 0, closed
}
