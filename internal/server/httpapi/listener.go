package httpapi

import (
	"crypto/tls"
	"net"
	"sync"
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
	if s == nil || c.known.Load() {
		return true
	}
	l.mu.Lock()
	count := l.count
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.stranger == nil: // gone, or known by now
		return true
	case !administrator && count-s.list.Len() >= s.connections-min(s.connections/8, keptForAdmins):
		return false
	case l.descriptors != nil && !l.descriptors.Know(administrator):
		return false
	}
	c.known.Store(true)
	s.remove(c)
	return true
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32

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
