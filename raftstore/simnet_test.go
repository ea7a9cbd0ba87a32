package raftstore

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/signal"
)

// simNet is a network in memory. Every ordered pair of nodes has a line of its
// own, which can be slow or cut. What is written to a line that is cut is held
// back, and arrives late when it is mended, unless the connection broke meanwhile.
// Nothing in it blocks but on channels, so that fake time passes.
type simNet struct {
	mu        sync.Mutex
	rnd       *rand.Rand
	usual     time.Duration // delay of a line at most; with more of it, more is in flight when a node dies
	lines     map[[2]string]*line
	listeners map[string]*simListener
	conns     map[*simConn]bool
	safety    *raftSafety
}

// line is how one node's bytes reach another.
type line struct {
	cut   bool
	delay time.Duration                 // at most
	kinds map[messageKind]time.Duration // of some, in addition; exactly
}

func newSimNet(seed uint64) *simNet {
	rnd := rand.New(rand.NewPCG(seed, 1))
	return &simNet{
		rnd: rnd, usual: time.Duration(1+rnd.IntN(20)) * time.Millisecond,
		lines: make(map[[2]string]*line), listeners: make(map[string]*simListener), conns: make(map[*simConn]bool),
		safety: newRaftSafety(),
	}
}

func (n *simNet) lineLocked(from, to string) *line {
	l := n.lines[[2]string{from, to}]
	if l == nil {
		l = &line{delay: n.usual}
		n.lines[[2]string{from, to}] = l
	}
	return l
}

// set changes a line.
func (n *simNet) set(from, to string, change func(*line)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n.lineLocked(from, to))
	for c := range n.conns {
		c.wakeLocked()
	}
}

// heal mends everything.
func (n *simNet) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.lines)
	for c := range n.conns {
		c.wakeLocked()
	}
}

// listen makes a node reachable until the listener is closed.
func (n *simNet) listen(id string) *simListener {
	l := &simListener{net: n, id: id, accepted: make(chan net.Conn, 64), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[id] = l
	return l
}

// dial connects from a node. A request to connect that is lost is not sent again.
func (n *simNet) dial(ctx context.Context, from, to string) (net.Conn, error) {
	n.mu.Lock()
	lost := n.lineLocked(from, to).cut || n.lineLocked(to, from).cut
	l := n.listeners[to]
	if !lost && l != nil {
		near, far := n.pairLocked(from, to)
		n.mu.Unlock()
		select {
		case l.accepted <- far:
			return near, nil
		case <-l.closed:
		}
		_ = near.Close()
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	n.mu.Unlock()
	if !lost {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (n *simNet) pairLocked(from, to string) (near, far *simConn) {
	x := &exchange{request: rpcNone}
	near = &simConn{net: n, exchange: x, from: from, to: to, wake: signal.New()}
	far = &simConn{net: n, exchange: x, from: to, to: from, wake: signal.New()}
	x.dialer, near.peer, far.peer = near, far, near
	n.conns[near], n.conns[far] = true, true
	return near, far
}

// reset breaks all connections of a node, as its death does.
func (n *simNet) reset(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if c.from == id || c.to == id {
			c.closeLocked(syscall.ECONNRESET)
		}
	}
}

type simListener struct {
	net      *simNet
	id       string
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (l *simListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *simListener) Close() error {
	l.once.Do(func() {
		l.net.mu.Lock()
		if l.net.listeners[l.id] == l {
			delete(l.net.listeners, l.id)
		}
		l.net.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *simListener) Addr() net.Addr { return simAddr(l.id) }

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }

// simConn is one end of a connection. Its inbox is what the other end wrote.
type simConn struct {
	net      *simNet
	from, to string
	peer     *simConn
	exchange *exchange
	wake     signal.Channel // cap 1: look again

	// Guarded by net.mu.
	inbox    []packet
	broken   error // nil while it is open
	deadline time.Time
}

type packet struct {
	at   time.Time // of arrival, unless the line is cut
	data []byte
}

func (c *simConn) wakeLocked() { c.wake.Notify() }

// Write never blocks: buffers have no bounds here.
func (c *simConn) Write(b []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.broken != nil {
		return 0, c.broken
	}
	if c.peer.broken != nil {
		return 0, syscall.EPIPE
	}
	at := time.Now().Add(c.net.delayLocked(c, b))
	if n := len(c.peer.inbox); n > 0 && c.peer.inbox[n-1].at.After(at) {
		at = c.peer.inbox[n-1].at
	}
	c.peer.inbox = append(c.peer.inbox, packet{at, append([]byte(nil), b...)})
	c.peer.wakeLocked()
	return len(b), nil
}

// delayLocked says how long bytes are in flight.
func (n *simNet) delayLocked(c *simConn, b []byte) time.Duration {
	l := n.lineLocked(c.from, c.to)
	d := time.Duration(n.rnd.Int64N(int64(l.delay) + 1))
	if k, ok := c.kindLocked(b); ok {
		d += l.kinds[k]
	}
	return d
}

func (c *simConn) Read(b []byte) (int, error) {
	for {
		n, wait, err := c.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		var later <-chan time.Time
		if wait > 0 {
			t := time.NewTimer(wait)
			defer t.Stop()
			later = t.C
		}
		select {
		case <-c.wake:
		case <-later:
		}
	}
}

// take returns what has arrived, or how long to wait for it; 0: for a wake.
func (c *simConn) take(b []byte) (n int, wait time.Duration, err error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	now := time.Now()
	switch {
	case c.broken != nil:
		return 0, 0, c.broken
	case !c.deadline.IsZero() && !now.Before(c.deadline):
		return 0, 0, os.ErrDeadlineExceeded
	case !c.deadline.IsZero():
		wait = c.deadline.Sub(now)
	}
	if c.net.lineLocked(c.to, c.from).cut {
		return 0, wait, nil
	}
	if len(c.inbox) == 0 {
		if c.peer.broken != nil {
			return 0, 0, io.EOF
		}
		return 0, wait, nil
	}
	p := &c.inbox[0]
	if until := p.at.Sub(now); until > 0 {
		if wait == 0 || until < wait {
			wait = until
		}
		return 0, wait, nil
	}
	n = copy(b, p.data)
	if p.data = p.data[n:]; len(p.data) == 0 {
		c.inbox = c.inbox[1:]
	}
	return n, 0, nil
}

func (c *simConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.closeLocked(net.ErrClosed)
	return nil
}

func (c *simConn) closeLocked(why error) {
	if c.broken == nil {
		c.broken = why
	}
	if errors.Is(why, syscall.ECONNRESET) {
		c.inbox = nil
	}
	c.wakeLocked()
	c.peer.wakeLocked()
	delete(c.net.conns, c)
}

func (c *simConn) SetReadDeadline(t time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.deadline = t
	c.wakeLocked()
	return nil
}

func (c *simConn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *simConn) SetWriteDeadline(t time.Time) error { return nil }
func (c *simConn) LocalAddr() net.Addr                { return simAddr(c.from) }
func (c *simConn) RemoteAddr() net.Addr               { return simAddr(c.to) }
