package peer

import (
	"net"
	"sync/atomic"
	"time"
)

// heard is when bytes last came over a connection. Silence is measured with the
// monotonic clock: a step of the wall clock is not one.
type heard struct{ at atomic.Pointer[time.Time] }

func newHeard() *heard {
	h := new(heard)
	h.now()
	return h
}

func (h *heard) now() {
	t := time.Now()
	h.at.Store(&t)
}

// silent returns for how long nothing came.
func (h *heard) silent() time.Duration { return time.Since(*h.at.Load()) }

// noting is a connection that notes when bytes came, so that a long frame on a
// slow line counts as a sign of life.
type noting struct {
	net.Conn
	heard *heard
}

func (c *noting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.now()
	}
	return n, err
}
