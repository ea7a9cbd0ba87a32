package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/minrate"
	"github.com/turnlog/turnlog/internal/signal"
)

// wire is a connection's socket: how long a read or a write of it may take, and how
// it is closed. Its fields belong to the goroutine that reads requests, but for
// wasCut and for writeBy, which goes with the Writer: see replies.
type wire struct {
	srv     *Server
	nc      net.Conn
	within  bool // part of a request was received
	request minrate.Deadline
	got     int // bytes that request does not know of yet
	// loginBy is until when the client has to authenticate; zero: it has, or need not.
	loginBy time.Time
	timed   bool // the socket has a read deadline
	abort   bool // the input cannot be read on; close gently

	writeBy time.Time   // the socket's write deadline
	wasCut  atomic.Bool // see cut
}

func (w *wire) remote() net.Addr { return w.nc.RemoteAddr() }
func (w *wire) local() net.Addr  { return w.nc.LocalAddr() }

func (w *wire) read(p []byte) (int, error) {
	n, err := w.nc.Read(p)
	w.srv.stats.received.Add(uint64(n))
	w.got += n
	return n, err
}

// begin notes that a request begins.
func (w *wire) begin() {
	w.within, w.request, w.got = true, minrate.Begin(time.Now(), w.srv.cfg.ReadTimeout), 0
}

// handshakeTime bounds the TLS handshake of a client.
const handshakeTime = 10 * time.Second

// shakeHands begins TLS, if the connection has it. Without users no read has a deadline
// until a request has begun, and with client certificates this is where strangers end.
func (w *wire) shakeHands(ctx context.Context) error {
	secured, ok := w.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	leave, err := w.srv.handshakes.Enter(ctx, secured.NetConn())
	if err != nil {
		return err
	}
	defer leave()
	return secured.HandshakeContext(ctx)
}

// limitRead bounds the time for more of a request, and that in which a stranger has to
// authenticate; users may take their time between requests.
func (w *wire) limitRead() error {
	by := w.loginBy
	if w.within {
		if t := w.request.Next(time.Now(), w.got); by.IsZero() || t.Before(by) {
			by = t
		}
		w.got = 0
	}
	switch {
	case !by.IsZero():
		w.timed = true
		return w.nc.SetReadDeadline(by)
	case w.timed:
		w.timed = false
		return w.nc.SetReadDeadline(time.Time{})
	}
	return nil
}

// writeChunk is what a client must accept within three quarters of
// Config.WriteTimeout at least.
const writeChunk = 64 << 10

// Write sends replies. When it fails, the connection ends.
func (w *wire) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		// Moved on only when a quarter of it has passed: it costs as much as the
		// write itself.
		if now := time.Now(); w.writeBy.Sub(now) < w.srv.cfg.WriteTimeout*3/4 {
			w.writeBy = now.Add(w.srv.cfg.WriteTimeout)
			w.nc.SetWriteDeadline(w.writeBy)
		}
		if w.wasCut.Load() {
			err = net.ErrClosed
			break
		}
		var m int
		m, err = w.nc.Write(p[n:min(len(p), n+writeChunk)])
		n += m
	}
	w.srv.stats.sent.Add(uint64(n))
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !w.wasCut.Load() {
			w.srv.endings.unread.log(w, slog.LevelWarn, "of a client that does not read its replies", "waited",
				w.srv.cfg.WriteTimeout)
		}
		w.nc.Close() // ends the input as well
	}
	return n, err
}

func (w *wire) close() {
	if w.abort {
		w.linger()
	}
	w.nc.Close()
}

// cutOff closes the socket without a word. With TLS, close writes first: a client that does
// not read can make its caller wait for seconds. Any goroutine may call cutOff.
func (w *wire) cutOff() { socket(w.nc).Close() }

// linger lets the client read the last reply: closing a socket with unread input
// would make the kernel take the reply back.
func (w *wire) linger() {
	if half, ok := w.nc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	w.nc.SetReadDeadline(time.Now().Add(time.Second))
	io.CopyN(io.Discard, w.nc, 1<<20)
}

// source is where requests come from: what was kept while a request blocked, then
// the socket.
type source struct{ c *conn }

// Read writes out the replies that have gathered before it waits for more input.
func (s source) Read(p []byte) (int, error) {
	c := s.c
	if n := c.kept.read(p); n > 0 {
		return n, nil
	}
	c.replies.Flush()
	if err := c.setReadDeadline(); err != nil {
		return 0, err
	}
	return c.wire.read(p)
}

// stopTime bounds how long a connection that is to end reads what has arrived: a
// client whose pipeline is cut short sends all of it again.
const stopTime = 2 * time.Second

// setReadDeadline says until when to wait for more input. It holds the lock
// meanwhile, so as not to undo what stop does.
func (c *conn) setReadDeadline() error {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	if c.info.outlasts && (c.info.stopping || signal.Closed(c.blocking)) {
		return os.ErrDeadlineExceeded
	}
	if !c.info.stopping {
		return c.wire.limitRead()
	}
	if c.wire.wasCut.Load() || time.Now().After(c.info.stopBy) || !c.pacing.more() {
		return os.ErrDeadlineExceeded
	}
	return c.wire.nc.SetReadDeadline(c.info.stopBy)
}

// stop ends the input: what was received is answered, then the connection closes.
// What blocks ends at once; the requests behind it could not be answered in time.
func (c *conn) stop() {
	c.hangUp(nil)
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	if !c.info.stopping {
		c.info.stopping, c.info.stopBy = true, time.Now().Add(stopTime)
	}
	c.wire.nc.SetReadDeadline(past)
}

// past as a deadline ends a read or write at once.
var past = time.Unix(1, 0)

func (c *conn) isStopping() bool {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	return c.info.stopping
}

// cut ends a connection that does not read what is pushed to it. It may be called
// by any goroutine, and does not block.
func (c *conn) cut() {
	if c.wire.wasCut.Swap(true) {
		return
	}
	c.srv.endings.unheard.log(&c.wire, slog.LevelWarn, "of a subscriber that does not read its messages")
	c.stop()
	c.wire.nc.SetWriteDeadline(past)
}

// socket returns what is under TLS, if it is that.
func socket(nc net.Conn) net.Conn {
	for {
		wrapped, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = wrapped.NetConn()
	}
}
