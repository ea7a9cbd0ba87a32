package httpapi

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/turn"
)

// memory bounds the bytes of bodies and answers that all requests hold together, and
// those of one user, or of one address where there are no users.
type memory struct {
	left atomic.Int64
	each int64 // that one may hold

	mu   sync.Mutex
	held map[string]int64 // by whom; who holds nothing is not in it
}

// take reserves n bytes for who, or reports that there are not so many left. A
// negative n gives bytes back.
func (m *memory) take(who string, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && (m.held[who]+n > m.each || m.left.Load() < n) {
		return false
	}
	m.left.Add(-n)
	if m.held[who] += n; m.held[who] == 0 {
		delete(m.held, who)
	}
	return true
}

// who names whose share of the memory the call takes from.
func (c *call) who() string {
	if c.login.Name != "" {
		return "user " + c.login.Name
	}
	host, _, err := net.SplitHostPort(c.request.RemoteAddr)
	if err != nil {
		host = c.request.RemoteAddr
	}
	return "from " + host
}

// hold reserves n bytes, or gives up -n of them, until the call ends.
func (c *call) hold(n int64) error {
	if !c.server.memory.take(c.who(), n) {
		return turn.Errorf(turn.Overloaded, "too many large requests at once; try again")
	}
	c.held += n
	return nil
}

func payloadBytes(ms []turn.Message) (n int64) {
	for i := range ms {
		n += int64(len(ms[i].Data))
	}
	return n
}
