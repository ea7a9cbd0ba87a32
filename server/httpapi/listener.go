package httpapi

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// boundedListener bounds the number of connections. Where there are users, the oldest
// connection that has yet to authenticate gives way to a new one; otherwise a new one
// that is too many is told so and closed.
type boundedListener struct {
	net.Listener
	max         int
	strangers   *strangers // nil: there are none
	descriptors Descriptors
	m           *instruments

	mu    sync.Mutex
	count int
}

// Descriptors says whether one more file descriptor may be taken for a client.
type Descriptors interface {
	// Take takes one, unless too many are taken. Release gives it back.
	Take() bool
	Release()
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
			if !l.strangers.giveWay() {
				l.m.refused.Inc()
				refuse(conn)
				conn = nil
				break
			}
		}
		if conn != nil {
			l.m.connections.Inc()
			c := &boundedConn{Conn: conn, l: l}
			l.strangers.meet(c)
			return c, nil
		}
	}
}

func (l *boundedListener) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= l.max || l.descriptors != nil && !l.descriptors.Take() {
		return false
	}
	l.count++
	return true
}

func (l *boundedListener) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
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
	l        *boundedListener
	once     sync.Once
	stranger *list.Element // guarded by strangers.mu; nil: it is none, or has given way
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.l.strangers.forget(c)
		c.l.release()
		c.l.m.connections.Dec()
	})
	return err
}
