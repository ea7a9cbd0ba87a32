package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/internal/minrate"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/internal/throttle"
)

// Shared is what the sockets of one server have in common. The first fields do not change.
type Shared struct {
	Log *slog.Logger
	// ReadTimeout bounds a pause within a request; WriteTimeout how long a client accepts nothing.
	ReadTimeout, WriteTimeout time.Duration
	KeptBytes                 int // that a connection keeps while a request blocks it
	Handshakes                *handshakes.Limit

	Endings        Endings
	Received, Sent atomic.Uint64 // bytes
}

// Wire is a connection's socket. Its methods and fields belong to the goroutine that reads requests
// where they do not say otherwise; Write goes with the Writer: see replies.
type Wire struct {
	shared *Shared
	nc     net.Conn
	raw    syscall.RawConn // of the socket, under TLS too; nil: it has none
	gone   context.Context
	end    context.CancelCauseFunc // of gone

	within  bool // part of a request was received
	request minrate.Deadline
	got     int // bytes that request does not know of yet
	// loginBy is until when the client has to authenticate; zero: it has, or need not.
	loginBy time.Time
	timed   bool // the socket has a read deadline
	abort   bool // the input cannot be read on; close gently
	// blocking is closed when the request that blocks the connection has ended; nil: none does.
	blocking <-chan struct{}
	kept     kept

	writeBy time.Time   // the socket's write deadline
	wasCut  atomic.Bool // see Cut

	mu       sync.Mutex
	stopping bool      // no further input is waited for
	stopBy   time.Time // … from then on at the latest
	outlasts bool      // input is waited for while a request blocks: see Outlast
}

// New returns the wire of the socket nc. What is kept of its input is charged to memory. What blocks
// ends with ctx at the latest.
func New(ctx context.Context, nc net.Conn, s *Shared, memory resp.Memory) *Wire {
	w := &Wire{shared: s, nc: nc, raw: hangup.Raw(socket(nc)), kept: kept{budget: memory, max: s.KeptBytes}}
	w.gone, w.end = context.WithCancelCause(ctx)
	return w
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

// Gone ends when what blocks must end: because the client has left, which is its cause then, or
// because of Stop. Any goroutine may call it.
func (w *Wire) Gone() context.Context { return w.gone }

// End ends what blocks; cause is why. Any goroutine may call it.
func (w *Wire) End(cause error) { w.end(cause) }

// Stopping reports whether the input is to end. Any goroutine may call it.
func (w *Wire) Stopping() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopping
}

// Remote is the address of the client. Any goroutine may call it.
func (w *Wire) Remote() net.Addr { return w.nc.RemoteAddr() }

// Input returns where requests come from: what was kept while a request blocked, then the socket.
// flush is called before it waits for more input.
func (w *Wire) Input(flush func()) io.Reader { return source{w, flush} }

type source struct {
	w     *Wire
	flush func()
}

func (s source) Read(p []byte) (int, error) {
	if n := s.w.kept.read(p); n > 0 {
		return n, nil
	}
	s.flush()
	for {
		if err := s.w.setReadDeadline(); err != nil {
			return 0, err
		}
		n, err := s.w.read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !s.w.Stopping() || !hangup.Unread(s.w.raw) {
			return n, err
		}
		// Stop has ended this read before it looked at what the client had sent.
	}
}

func (w *Wire) read(p []byte) (int, error) {
	n, err := w.nc.Read(p)
	w.shared.Received.Add(uint64(n))
	w.got += n
	return n, err
}

// Kept reports whether input was kept that has not been read.
func (w *Wire) Kept() bool { return len(w.kept.buf) > 0 }

// Begin notes that a request begins.
func (w *Wire) Begin() {
	w.within, w.request, w.got = true, minrate.Begin(time.Now(), w.shared.ReadTimeout), 0
}

// Between notes that no request has begun: the next may come whenever it does.
func (w *Wire) Between() { w.within = false }

// handshakeTime bounds the TLS handshake of a client.
const handshakeTime = 10 * time.Second

// ShakeHands begins TLS, if the connection has it. Without users no read has a deadline
// until a request has begun, and with client certificates this is where those
// end that have none.
func (w *Wire) ShakeHands() error {
	secured, ok := w.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.gone, handshakeTime)
	defer cancel()
	leave, err := w.shared.Handshakes.Enter(ctx, secured.NetConn())
	if err != nil {
		return err
	}
	defer leave()
	err = secured.HandshakeContext(ctx)
	var not tls.RecordHeaderError
	if errors.As(err, &not) && not.Conn != nil && not.RecordHeader[0] == '*' { // a request without TLS
		_, _ = io.WriteString(not.Conn, "-ERR this port takes TLS only\r\n")
	}
	return err
}

// SetUnauthenticated gives a client that has yet to authenticate ReadTimeout for it; one that has, or need
// not, has all the time that there is.
func (w *Wire) SetUnauthenticated(yes bool) {
	w.loginBy = time.Time{}
	if yes {
		w.loginBy = time.Now().Add(w.shared.ReadTimeout)
	}
}

// limitRead bounds the time for more of a request, and that in which a client has to
// authenticate; users may take their time between requests.
func (w *Wire) limitRead() error {
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
// WriteTimeout at least.
const writeChunk = 64 << 10

// Write sends replies. When it fails, the connection ends.
func (w *Wire) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		// Moved on only when a quarter of it has passed: it costs as much as the
		// write itself.
		if now := time.Now(); w.writeBy.Sub(now) < w.shared.WriteTimeout*3/4 {
			w.writeBy = now.Add(w.shared.WriteTimeout)
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
	w.shared.Sent.Add(uint64(n))
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !w.wasCut.Load() {
			w.log(&w.shared.Endings.unread, slog.LevelWarn, "of a client that does not read its replies", "waited",
				w.shared.WriteTimeout)
		}
		w.nc.Close() // ends the input as well
	}
	return n, err
}

// log says that the connection is closed, which is one that reason describes.
func (w *Wire) log(e *throttle.Throttle, level slog.Level, reason string, attrs ...any) {
	count, ok := e.Pass(time.Now())
	if !ok {
		return
	}
	w.shared.Log.Log(context.Background(), level, "redis: closing connection "+reason,
		append(attrs, "client", w.nc.RemoteAddr(), "times", count)...)
}

// setReadDeadline says until when to wait for more input. It holds the lock
// meanwhile, so as not to undo what Stop does.
func (w *Wire) setReadDeadline() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outlasts && (w.stopping || signal.Closed(w.blocking)) {
		return os.ErrDeadlineExceeded
	}
	if !w.stopping {
		return w.limitRead()
	}
	switch {
	case w.wasCut.Load() || time.Now().After(w.stopBy):
		return os.ErrDeadlineExceeded
	case hangup.Unread(w.raw):
		return w.nc.SetReadDeadline(w.stopBy)
	}
	return w.nc.SetReadDeadline(past) // TLS may have taken more from the socket than was read
}
