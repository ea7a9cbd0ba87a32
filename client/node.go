package client

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// node is one address, with the connections to it.
type node struct {
	addr string
	cfg  *Config

	mu      sync.Mutex
	conns   []*conn
	dialing chan struct{} // non-nil while a connection is being opened; closed then
	closed  bool

	// Owned by router.
	failures int
	badUntil time.Time
}

// get returns a shared connection: an idle one, else a new one if there may be
// more, else the least loaded.
func (n *node) get(ctx context.Context) (*conn, error) {
	for {
		n.mu.Lock()
		if n.closed {
			n.mu.Unlock()
			return nil, ErrClosed
		}
		best, load := n.leastLoadedLocked()
		busy := n.dialing
		if best != nil && (load == 0 || len(n.conns) >= n.cfg.Conns || busy != nil) {
			n.mu.Unlock()
			return best, nil
		}
		if busy == nil {
			n.dialing = make(chan struct{})
			n.mu.Unlock()
			return n.open(ctx)
		}
		n.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (n *node) leastLoadedLocked() (best *conn, load int) {
	alive := n.conns[:0]
	for _, c := range n.conns {
		l := c.load()
		if l < 0 {
			continue
		}
		alive = append(alive, c)
		if best == nil || l < load {
			best, load = c, l
		}
	}
	clear(n.conns[len(alive):])
	n.conns = alive
	return best, load
}

// open dials on behalf of everybody who waits for n.dialing.
func (n *node) open(ctx context.Context) (*conn, error) {
	c, err := n.dial(ctx, n.cfg.StallTimeout)
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.dialing)
	n.dialing = nil
	if err != nil {
		return nil, err
	}
	if n.closed {
		c.close(ErrClosed)
		return nil, ErrClosed
	}
	n.conns = append(n.conns, c)
	return c, nil
}

// dial opens a connection, authenticated and in the client's namespace.
func (n *node) dial(ctx context.Context, stallTimeout time.Duration) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.DialTimeout)
	defer cancel()
	nc, err := n.cfg.Dial(ctx, "tcp", n.addr)
	if err != nil {
		return nil, err
	}
	if n.cfg.TLS != nil {
		tc := tls.Client(nc, n.tlsConfig())
		if err := tc.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, err
		}
		nc = tc
	}
	c := newConn(nc, stallTimeout)
	if err := n.greet(ctx, c); err != nil {
		c.close(err)
		return nil, err
	}
	return c, nil
}

func (n *node) tlsConfig() *tls.Config {
	if n.cfg.TLS.ServerName != "" {
		return n.cfg.TLS
	}
	t := n.cfg.TLS.Clone()
	t.ServerName, _, _ = net.SplitHostPort(n.addr)
	return t
}

// greet agrees on RESP3, authenticates, and selects the namespace. The
// namespace is confirmed before any other request is sent: a request must never
// run in another one.
func (n *node) greet(ctx context.Context, c *conn) error {
	hello := new(request).strings("HELLO", "3")
	if n.cfg.Password != "" {
		user := n.cfg.Username
		if user == "" {
			user = "default"
		}
		hello.strings("AUTH", user, n.cfg.Password)
	}
	requests := []*request{hello, new(request).strings("TURN.NS", n.cfg.Namespace)}
	calls, err := c.send(requests...)
	if err != nil {
		return err
	}
	for _, cl := range calls {
		v, _, err := cl.wait(ctx)
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *node) close() {
	n.mu.Lock()
	n.closed = true
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		c.close(ErrClosed)
	}
}
