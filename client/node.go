package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// node is one address, with the connections to it.
type node struct {
	addr string
	cfg  *Config

	ctx    context.Context // ends with close, and with it what is being opened
	cancel context.CancelFunc

	mu      sync.Mutex
	conns   []*conn
	opening *opening // non-nil while a connection is being opened

	// Owned by router.
	failures int
	badUntil time.Time
}

func newNode(addr string, cfg *Config) *node {
	n := &node{addr: addr, cfg: cfg}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// opening is a connection that one caller opens, and others wait for.
type opening struct {
	done chan struct{} // closed when err is set
	err  error         // the node's; nil if there is a connection, and if the caller that dialed has given up
}

// get returns a shared connection: an idle one, else a new one if there may be
// more, else the least loaded. If the node cannot be reached, all who wait for the same connection hear
// so at once: if each tried by itself, one after another, the last would wait many times DialTimeout.
func (n *node) get(ctx context.Context) (*conn, error) {
	for {
		n.mu.Lock()
		if n.ctx.Err() != nil {
			n.mu.Unlock()
			return nil, ErrClosed
		}
		best, load := n.leastLoadedLocked()
		busy := n.opening
		if best != nil && (load == 0 || len(n.conns) >= n.cfg.Conns || busy != nil) {
			n.mu.Unlock()
			return best, nil
		}
		if busy == nil {
			n.opening = &opening{done: make(chan struct{})}
			n.mu.Unlock()
			return n.open(ctx)
		}
		n.mu.Unlock()
		select {
		case <-busy.done:
			if busy.err != nil {
				return nil, busy.err
			}
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

// open dials on behalf of all who wait for n.opening, also if Config.Dial panics.
func (n *node) open(ctx context.Context) (c *conn, err error) {
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err == nil && c != nil {
			c, err = n.addLocked(c)
		}
		if ctx.Err() == nil {
			n.opening.err = err
		}
		close(n.opening.done)
		n.opening = nil
	}()
	return n.dial(ctx, n.cfg.StallTimeout)
}

func (n *node) addLocked(c *conn) (*conn, error) {
	if n.ctx.Err() != nil {
		c.close(ErrClosed)
		return nil, ErrClosed
	}
	n.conns = append(n.conns, c)
	return c, nil
}

// dial opens a connection, authenticated and in the client's namespace.
func (n *node) dial(ctx context.Context, stallTimeout time.Duration) (*conn, error) {
	bounded, cancel := context.WithTimeout(ctx, n.cfg.DialTimeout)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	c, err := n.connect(bounded, stallTimeout)
	switch {
	case err == nil:
		return c, nil
	case n.ctx.Err() != nil:
		return nil, ErrClosed
	case bounded.Err() != nil && ctx.Err() == nil: // err must not look like the end of the caller's context
		return nil, fmt.Errorf("it took longer than %v: %v", n.cfg.DialTimeout, err)
	}
	return nil, err
}

func (n *node) connect(ctx context.Context, stallTimeout time.Duration) (*conn, error) {
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
	n.cancel()
	n.mu.Lock()
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		c.close(ErrClosed)
	}
}
