package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/turnlog/turnlog/turn"
)

// indexHeader names the last log entry that a backup includes.
const indexHeader = "Turnlog-Index"

// backupBuffer is how much of a backup is read at a time.
const backupBuffer = 64 << 10

// getBackup streams the state. An error in its middle closes the connection before the announced length.
func (s *Server) getBackup(c *call) (any, error) {
	a, err := c.admin()
	if err != nil {
		return nil, err
	}
	if c.request.Method == http.MethodHead {
		return nil, turn.Errorf(turn.Invalid, "a backup is read with GET")
	}
	index, size, stream, err := a.Backup(c.ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	h := c.out.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(indexHeader, strconv.FormatUint(index, 10))
	if err := c.copyOut(stream); err != nil {
		s.log.Warn("a backup was cut short", "index", index, "remote", c.request.RemoteAddr, "error", err)
		c.out.err = err
	}
	return written{}, nil
}

// copyOut sends a stream, until it ends, the client goes away or the server stops.
func (c *call) copyOut(stream io.Reader) error {
	buf := make([]byte, backupBuffer)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			c.out.send(buf[:n])
		}
		switch {
		case c.out.err != nil:
			return c.out.err
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-c.server.stopping:
			return errStopping
		case <-c.ctx.Done():
			return c.ctx.Err()
		default:
		}
	}
}
