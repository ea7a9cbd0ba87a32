package httpapi

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/server/admission"
)

// boundedListener bounds the number of connections. A new one that is too many is told so and closed.
type boundedListener struct {
	net.Listener
	tls        *tls.Config // nil: none
	handshakes *handshakes.Limit
	admission  *admission.Control
	heads      *headMemory     // nil: there are no users
	stopping   <-chan struct{} // closed when the server stops
	m          *instruments

	closing sync.WaitGroup // TLS connections that are being closed while the server stops
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if place := l.admission.Admit(); place != nil {
			l.m.connections.Inc()
			return l.welcome(conn, place), nil
		}
		l.m.refused.Inc()
		refuse(conn)
	}
}

func (l *boundedListener) welcome(conn net.Conn, place *admission.Place) net.Conn {
	c := &boundedConn{Conn: conn, socket: conn, l: l, place: place}
	if l.heads != nil {
		place.SetUnauthenticated(c.giveWay)
	}
	if l.tls == nil {
		return c
	}
	tracked := handshakes.Track(conn)
	secured := tls.Server(tracked, l.tls)
	c.Conn = secured
	return &secureConn{boundedConn: c, tracked: tracked, tls: secured}
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
