package redis

import (
	"errors"
	"io"
	"os"

	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/internal/resp"
)

// outlast waits for the end of the request that blocks the connection, if one does,
// and reports whether the client is still there then. What comes meanwhile is kept and
// not looked at: no request takes place behind one that blocks, so that none does when
// the client leaves.
func (c *conn) outlast() bool {
	if c.blocking == nil {
		return true
	}
	c.setOutlasts(true)
	err := c.keepInput()
	c.setOutlasts(false)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		<-c.blocking // it has ended, or stop ends it
		c.blocking = nil
		return true
	}
	return false
}

func (c *conn) setOutlasts(yes bool) {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	c.info.outlasts = yes
	c.wire.timed = true // wake may have set the deadline
}

// wake ends keepInput. Any goroutine may call it, when blocking is closed.
func (c *conn) wake() {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	if c.info.outlasts {
		c.wire.nc.SetReadDeadline(past)
	}
}

// keepInput reads until the connection ends, or with os.ErrDeadlineExceeded until it
// is woken. When there is no room for more, it only looks for the end.
func (c *conn) keepInput() error {
	for {
		err := c.in.Fill()
		if err == resp.ErrFull {
			err = c.keepMore()
		}
		if err != nil {
			return err
		}
	}
}

func (c *conn) keepMore() error {
	if err := c.setReadDeadline(); err != nil {
		return err
	}
	room := c.kept.room()
	if room == nil {
		return c.awaitEnd()
	}
	n, err := c.wire.read(room)
	c.kept.grew(n)
	return err
}

// awaitEnd waits until the client has closed the connection, with input before that
// end which is not read. The deadline ends it.
func (c *conn) awaitEnd() error {
	raw := hangup.Raw(socket(c.wire.nc))
	if raw == nil {
		<-c.blocking
		return os.ErrDeadlineExceeded
	}
	// Read calls it again at each event of the socket.
	if err := raw.Read(hangup.Seen); err != nil {
		return err
	}
	return io.EOF
}
