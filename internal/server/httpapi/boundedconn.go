package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/handshakes"
	"github.com/turnlog/turnlog/internal/server/admission"
)

// boundedConn is a connection of a client. Of one with TLS, it has what is within.
type boundedConn struct {
	net.Conn
	socket net.Conn
	l      *boundedListener
	place  *admission.Place
	head   head
	once   sync.Once

	// Guarded by headMemory.mu:
	held     int64 // bytes of heads
	released bool  // it holds none any more
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}

// giveWay closes the connection without a word to the client, for which others would wait.
func (c *boundedConn) giveWay() {
	c.l.m.refused.Inc()
	_ = c.socket.Close()
	c.release()
}

func (c *boundedConn) release() {
	c.once.Do(func() {
		c.place.Close()
		c.l.heads.giveBack(c, true)
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

// know notes that a user has authenticated over the connection. It reports false if the connections that are left are
// for administrators.
func (c *boundedConn) know(administrator bool) bool {
	if c.place.Authenticated() {
		return true
	}
	if !c.place.Authenticate(administrator) {
		return false
	}
	c.l.heads.giveBack(c, false)
	return true
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
	if errors.As(c.tls.HandshakeContext(ctx), &not) && not.Conn != nil {
		_, _ = io.WriteString(not.Conn, withoutTLS(not.RecordHeader))
	}
	return c.tls.ConnectionState()
}

const httpsOnly = `{"error":{"code":"INVALID","message":"this port takes HTTPS only","outcome":"not_applied","retry":false}}` +
	"\n"

// withoutTLS answers a request that does not begin with TLS, as far as its protocol is known.
func withoutTLS(begin [5]byte) string {
	switch {
	case isHTTP(begin):
		return fmt.Sprintf("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(httpsOnly), httpsOnly)
	case begin[0] == '*':
		return "-ERR this port takes HTTPS only, and is not the one for Redis clients\r\n"
	}
	return ""
}

// isHTTP reports whether what should begin a TLS record looks like a request.
func isHTTP(b [5]byte) bool {
	return !slices.ContainsFunc(b[:3], func(c byte) bool { return c < 'A' || c > 'Z' })
}
