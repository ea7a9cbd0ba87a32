package handshakes

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Listener returns l with connections that tell a Limit how long their handshakes wait
// for the client. It is what TLS is put upon.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Track(conn), nil
}

// Conn is a connection between a socket and TLS.
type Conn struct {
	net.Conn
	over atomic.Bool // the handshake is

	mu     sync.Mutex
	waits  time.Time     // since when a read waits; zero: none does
	waited time.Duration // in all reads before
}

// Track returns a connection that tells how long it waits.
func Track(conn net.Conn) *Conn { return &Conn{Conn: conn} }

// NetConn returns the socket.
func (c *Conn) NetConn() net.Conn { return c.Conn }

func (c *Conn) Read(p []byte) (int, error) {
	if c.over.Load() {
		return c.Conn.Read(p)
	}
	c.mu.Lock()
	c.waits = time.Now()
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.waited += time.Since(c.waits)
	c.waits = time.Time{}
	c.mu.Unlock()
	return n, err
}

// waitedFor returns how long the handshake has waited for the client.
func (c *Conn) waitedFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits.IsZero() {
		return c.waited
	}
	return c.waited + time.Since(c.waits)
}
