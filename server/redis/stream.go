package redis

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"
)

// linger lets the client read the last reply: closing a socket with unread input
// would make the kernel take the reply back.
func (c *conn) linger() {
	if half, ok := c.nc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(time.Second))
	io.CopyN(io.Discard, c.nc, 1<<20)
}

// source is where requests come from.
type source struct{ c *conn }

// Read writes out the replies that have gathered before it waits for more input.
func (s source) Read(p []byte) (int, error) {
	c := s.c
	c.replies.flush()
	if err := c.setReadDeadline(); err != nil {
		return 0, err
	}
	n, err := c.nc.Read(p)
	c.srv.stats.received.Add(uint64(n))
	return n, err
}

// stopTime bounds how long a connection that is to end reads what has arrived: a
// client whose pipeline is cut short sends all of it again.
const stopTime = 2 * time.Second

func (c *conn) setReadDeadline() error {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	switch {
	case c.about.stopping:
		if c.wasCut.Load() || time.Now().After(c.about.stopBy) || !c.pace.more() {
			return os.ErrDeadlineExceeded
		}
		return c.nc.SetReadDeadline(c.about.stopBy)
	case c.within || c.stranger():
		c.timed = true
		return c.nc.SetReadDeadline(time.Now().Add(c.srv.cfg.ReadTimeout))
	case c.timed:
		c.timed = false
		return c.nc.SetReadDeadline(time.Time{})
	}
	return nil
}

// sink is where replies go.
type sink struct{ c *conn }

// writeChunk is what a client must accept within three quarters of
// Config.WriteTimeout at least.
const writeChunk = 64 << 10

func (s sink) Write(p []byte) (n int, err error) {
	c := s.c
	for n < len(p) && err == nil {
		// Moved on only when a quarter of it has passed: it costs as much as the
		// write itself.
		if now := time.Now(); c.writeBy.Sub(now) < c.srv.cfg.WriteTimeout*3/4 {
			c.writeBy = now.Add(c.srv.cfg.WriteTimeout)
			c.nc.SetWriteDeadline(c.writeBy)
		}
		if c.wasCut.Load() {
			err = net.ErrClosed
			break
		}
		var m int
		m, err = c.nc.Write(p[n:min(len(p), n+writeChunk)])
		n += m
	}
	c.srv.stats.sent.Add(uint64(n))
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.wasCut.Load() {
			c.srv.log.Warn("redis: closing connection of a client that does not read its replies",
				"client", c.nc.RemoteAddr(), slog.Duration("waited", c.srv.cfg.WriteTimeout))
		}
		c.nc.Close() // ends the input as well
	}
	return n, err
}
