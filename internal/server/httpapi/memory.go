package httpapi

import (
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

func payloadBytes(ms []turn.Message) (n int64) {
	for i := range ms {
		n += int64(len(ms[i].Data))
	}
	return n
}
