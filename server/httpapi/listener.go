package httpapi

import (
	"net"
	"sync"
	"time"
)

// boundedListener refuses connections beyond a number, rather than let them
// wait without a word.
type boundedListener struct {
	net.Listener
	slots       chan struct{}
	descriptors Descriptors
	m           *instruments
}

// Descriptors says whether one more file descriptor may be taken for a client.
type Descriptors interface {
	// Take takes one, unless too many are taken. Release gives it back.
	Take() bool
	Release()
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.take() {
			l.m.connections.Inc()
			return &boundedConn{Conn: conn, l: l}, nil
		}
		l.m.refused.Inc()
		refuse(conn)
	}
}

func (l *boundedListener) take() bool {
	select {
	case l.slots <- struct{}{}:
	default:
		return false
	}
	if l.descriptors == nil || l.descriptors.Take() {
		return true
	}
	<-l.slots
	return false
}

func (l *boundedListener) release() {
	<-l.slots
	if l.descriptors != nil {
		l.descriptors.Release()
	}
}

// refuse answers before a request is read. The answer fits the empty send
// buffer, so that this does not block.
func refuse(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = conn.Write([]byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: " + retryAfter +
		"\r\nConnection: close\r\n\r\n" + tooManyConnections))
	_ = conn.Close()
}

const tooManyConnections = `{"error":{"code":"OVERLOADED","message":"too many connections","outcome":"not_applied","retry":true}}` + "\n"

type boundedConn struct {
	net.Conn
	l    *boundedListener
	once sync.Once
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.l.release()
		c.l.m.connections.Dec()
	})
	return err
}
