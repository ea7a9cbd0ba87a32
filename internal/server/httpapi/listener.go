package httpapi

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/handshakes"
)

// boundedListener bounds the number of connections. Where there are users, the oldest
// connection that has yet to authenticate gives way to a new one; otherwise a new one
// that is too many is told so and closed.
type boundedListener struct {
	net.Listener
	max         int
	tls         *tls.Config // nil: none
	handshakes  *handshakes.Limit
	strangers   *strangers // nil: there are none
	descriptors Descriptors
	stopping    <-chan struct{} // closed when the server stops
	m           *instruments

	closing sync.WaitGroup // TLS connections that are being closed while the server stops
	mu      sync.Mutex
	count   int
}

// Descriptors says whether one more file descriptor may be taken for a client.
type Descriptors interface {
	// Take takes one, unless too many are taken. Release gives it back.
	Take() bool
	Release()
	// MakeRoom has a stranger of another listener give way, so that Take can be tried
	// again; false: none did, or it would not help.
	MakeRoom() bool
	// Know notes that a descriptor is a user's, unless only administrators may have one
	// more. Forget undoes it, before Release.
	Know(administrator bool) bool
	Forget()
	// Size returns how many clients may have.
	Size() int
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.strangers.makeRoom()
		for !l.take() {
			if !l.strangers.giveWay() && !l.othersGiveWay() {
				l.m.refused.Inc()
				refuse(conn)
				conn = nil
				break
			}
		}
		if conn != nil {
			l.m.connections.Inc()
			return l.welcome(conn), nil
		}
	}
}

func (l *boundedListener) welcome(conn net.Conn) net.Conn {
	c := &boundedConn{Conn: conn, socket: conn, l: l}
	l.strangers.meet(c)
	if l.tls == nil {
		return c
	}
	tracked := handshakes.Track(conn)
	secured := tls.Server(tracked, l.tls)
	c.Conn = secured
	return &secureConn{boundedConn: c, tracked: tracked, tls: secured}
}

func (l *boundedListener) take() bool {
	if l.descriptors != nil && !l.descriptors.Take() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= l.max {
		if l.descriptors != nil {
			l.descriptors.Release()
		}
		return false
	}
	l.count++
	return true
}

// othersGiveWay has a stranger of another listener give way, if that is of any use.
func (l *boundedListener) othersGiveWay() bool {
	l.mu.Lock()
	full := l.count >= l.max
	l.mu.Unlock()
	return !full && l.descriptors != nil && l.descriptors.MakeRoom()
}

// know notes that a user has authenticated over c. It reports false if the connections
// that are left are for administrators.
func (l *boundedListener) know(c *boundedConn, administrator bool) bool {
	s := l.strangers
	if s == nil {
		return true
	}
	l.mu.Lock()
	count := l.count
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.stranger == nil: // known before, or gone
		return true
	case !administrator && count-s.list.Len() >= s.connections-min(s.connections/8, keptForAdmins):
		return false
	case l.descriptors != nil && !l.descriptors.Know(administrator):
		return false
	}
	c.known = true
	s.remove(c)
	return true
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32

func (l *boundedListener) release() {
	l.mu.Lock()
	l.count--
	l.mu.Unlock()
	if l.descriptors != nil {
		l.descriptors.Release()
	}
}

// refuse answers before a request is read. The answer fits the empty send
// buffer, so that this does not block.
func refuse(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write([]byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: " +
		retryAfter +
		"\r\nConnection: close\r\n\r\n" + tooManyConnections))
	_ = conn.Close()
}

const tooManyConnections = `{"error":{"code":"OVERLOADED","message":"too many connections",` +
	`"outcome":"not_applied","retry":true}}` + "\n"

// boundedConn is a connection of a client. Of one with TLS, it has what is within.
type boundedConn struct {
	net.Conn
	socket   net.Conn
	l        *boundedListener
	head     head
	once     sync.Once
	stranger *list.Element // nil: it is none, or has given way. Guarded by strangers.mu, as is:
	held     int64         // bytes of the head, if it is one
	known    bool          // a user has authenticated over it
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// cut closes the connection without a word to the client, for which others would wait.
func (c *boundedConn) cut() {
	_ = c.socket.Close()
	c.release()
}

func (c *boundedConn) release() {
	c.once.Do(func() {
		if c.l.strangers.forget(c) && c.l.descriptors != nil {
			c.l.descriptors.Forget()
		}
		c.l.release()
		c.l.m.connections.Dec()
	})
}

// CloseWrite is how net/http lets a client read an answer before all is closed.
func (c *boundedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// secureConn is a boundedConn with TLS.
type secureConn struct {
	*boundedConn
	tracked *handshakes.Conn
	tls     *tls.Conn
	closed  atomic.Bool // Close was called
}

// Close tells the client that the connection ends, and waits five seconds at most if the client
// reads nothing. A server that stops closes one connection after the other, with its lock held. So
// there it does not wait: listener.closing does.
func (c *secureConn) Close() error {
	first := c.closed.CompareAndSwap(false, true)
	select {
	case <-c.l.stopping:
		if first {
			c.l.closing.Go(func() { _ = c.boundedConn.Close() })
			return nil
		}
	default:
	}
	return c.boundedConn.Close()
}

// handshakeTime bounds the TLS handshake of a client.
const handshakeTime = 10 * time.Second

// ConnectionState is what net/http asks for before it reads. So this is where the
// handshake takes place; if it fails, so does what is read.
func (c *secureConn) ConnectionState() tls.ConnectionState {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	leave, err := c.l.handshakes.Enter(ctx, c.tracked)
	if err != nil {
		_ = c.socket.Close()
		return c.tls.ConnectionState()
	}
	defer leave()
	var not tls.RecordHeaderError
	if errors.As(c.tls.HandshakeContext(ctx), &not) && not.Conn != nil && isHTTP(not.RecordHeader) {
		_, _ = io.WriteString(not.Conn,
			"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nthis port takes HTTPS only\n")
	}
	return c.tls.ConnectionState()
}

// isHTTP reports whether what should begin a TLS record looks like a request.
func isHTTP(b [5]byte) bool {
	return !slices.ContainsFunc(b[:3], func(c byte) bool { return c < 'A' || c > 'Z' })
}

// boundedOf returns the boundedConn that conn is; nil: it is none.
func boundedOf(conn net.Conn) *boundedConn {
	switch c := conn.(type) {
	case *boundedConn:
		return c
	case *secureConn:
		return c.boundedConn
	}
	return nil
}
