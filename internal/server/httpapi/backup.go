package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/turnlog/turnlog/internal/minrate"
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
		s.log.Warn("a backup was cut short", "request_id", c.id, "index", index,
			"remote", c.request.RemoteAddr, "error", err)
		c.out.err = err
	}
	return written{}, nil
}

// copyOut sends a stream, until it ends, the client goes away or takes it too slowly, its user loses the right, or
// the server stops.
func (c *call) copyOut(stream io.Reader) error {
	buf := make([]byte, backupBuffer)
	deadline := minrate.BeginAt(time.Now(), c.server.cfg.Stall, minrate.BackupBytesPerSecond)
	for {
		began := time.Now()
		n, err := stream.Read(buf)
		deadline.Excuse(time.Since(began))
		if lost := c.stillAdmin(); lost != nil {
			return lost
		}
		if n > 0 {
			c.out.sendBy(buf[:n], deadline.Next(time.Now(), n))
		}
		switch {
		case errors.Is(c.out.err, os.ErrDeadlineExceeded):
			return turn.Errorf(turn.Unavailable, "the client took less than %d KiB a second for %v after %d bytes",
				minrate.BackupBytesPerSecond>>10, c.server.cfg.Stall, c.out.sent)
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
