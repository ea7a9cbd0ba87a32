package raftstore

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// wires is the network under a test's hand: connections by who dialed whom. A
// connection's requests go from the dialer to the dialed node, its answers back.
type wires struct {
	mu    sync.Mutex
	links map[link]*wireState
}

type link struct{ from, addr string }

type wireState struct {
	mu      sync.Mutex
	changed *sync.Cond
	hold    bool // answers wait
	held    int  // how many do
	drop    bool // requests vanish, new connections fail
	conns   map[*wire]struct{}
}

func newWires() *wires { return &wires{links: make(map[link]*wireState)} }

// option puts the wires under every node of a cluster.
func (w *wires) option(cfg *Config) {
	from := cfg.NodeID
	cfg.Peers.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		s := w.state(from, addr)
		s.mu.Lock()
		drop := s.drop
		s.mu.Unlock()
		if drop {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		x := &wire{Conn: c, state: s}
		s.mu.Lock()
		s.conns[x] = struct{}{}
		s.mu.Unlock()
		return x, nil
	}
}

func (w *wires) state(from, addr string) *wireState {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.links[link{from, addr}]
	if s == nil {
		s = &wireState{conns: make(map[*wire]struct{})}
		s.changed = sync.NewCond(&s.mu)
		w.links[link{from, addr}] = s
	}
	return s
}

// holdAnswers keeps answers from arriving, or lets them arrive.
func (w *wires) holdAnswers(from, addr string, hold bool) {
	s := w.state(from, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
	s.changed.Broadcast()
}

// held returns how many connections have an answer that waits.
func (w *wires) held(from, addr string) int {
	s := w.state(from, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// dropRequests makes requests vanish, without an error. What was dropped breaks
// the connections, so they are closed when it ends.
func (w *wires) dropRequests(from, addr string, drop bool) {
	s := w.state(from, addr)
	s.mu.Lock()
	s.drop = drop
	s.mu.Unlock()
	if !drop {
		w.closeAll(from, addr)
	}
}

// loseAnswers closes the connections: requests in flight may have arrived, their
// answers are lost.
func (w *wires) closeAll(from, addr string) {
	s := w.state(from, addr)
	s.mu.Lock()
	var all []*wire
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

type wire struct {
	net.Conn
	state  *wireState
	closed bool // guarded by state.mu
}

func (c *wire) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	s := c.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 {
		s.held++
		defer func() { s.held-- }()
	}
	for s.hold && !c.closed {
		s.changed.Wait()
	}
	if c.closed {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *wire) Write(p []byte) (int, error) {
	c.state.mu.Lock()
	drop := c.state.drop
	c.state.mu.Unlock()
	if drop {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// SyscallConn lets a stream see that the other side has ended.
func (c *wire) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }

func (c *wire) Close() error {
	s := c.state
	s.mu.Lock()
	c.closed = true
	delete(s.conns, c)
	s.changed.Broadcast()
	s.mu.Unlock()
	return c.Conn.Close()
}
