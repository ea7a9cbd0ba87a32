package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/throttle"
)

// Network is a node's end of all connections to and from its peers. New makes
// one, Run serves it; all other methods may be called by any goroutine, before
// Run, during it and after.
type Network struct {
	cfg     Config
	log     *slog.Logger
	streams *Streams
	done    chan struct{} // closed when Run begins to stop
	greets  *greetings    // accepted connections in their handshake
	guests  chan struct{} // a token for each one beyond it

	refusals, overflow throttle.Throttle // of what is logged about them

	wg sync.WaitGroup // goroutines that Run waits for

	mu      sync.Mutex
	running context.Context // Run's; nil before it
	links   map[string]*link
	conns   map[net.Conn]*tracked // all open connections
	closed  bool
	session uint64
}

// New returns a Network that does nothing yet, not even accept.
func New(cfg Config) *Network {
	cfg.setDefaults()
	n := &Network{
		cfg:    cfg,
		log:    cfg.Logger,
		done:   make(chan struct{}),
		greets: &greetings{max: cfg.Bounds.Greetings},
		guests: make(chan struct{}, cfg.Bounds.Conns),
		links:  make(map[string]*link),
		conns:  make(map[net.Conn]*tracked),
	}
	n.streams = &Streams{net: n, accepted: make(chan net.Conn)}
	return n
}

// Run accepts connections and keeps those to the peers alive until ctx ends. On
// return the listener and all connections are closed and nothing runs any more.
// It may be called once.
func (n *Network) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	n.running = ctx
	for _, l := range n.links {
		n.startLocked(l)
	}
	n.mu.Unlock()

	stopped := make(chan struct{})
	n.wg.Go(func() {
		defer close(stopped)
		<-ctx.Done()
		n.close()
	})
	err := n.accept(ctx)
	cancel()
	<-stopped
	n.wg.Wait()
	return err
}

// close closes everything that is open; what is opened later is closed at once.
func (n *Network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	close(n.done)
	_ = n.cfg.Listener.Close()
	for c := range n.conns {
		_ = c.Close()
	}
}

func (n *Network) accept(ctx context.Context) error {
	pause := 5 * time.Millisecond
	for {
		c, err := n.cfg.Listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("peer: the listener on %s was closed: %w", n.cfg.Advertise, err)
		case err != nil: // such as too many open files: others may close some
			n.log.Warn("cannot accept a node connection", "error", err, "retry_in", pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		n.take(ctx, c)
	}
}

// take begins the handshake of an accepted connection. It is not known yet whose it is,
// so that of too many the oldest makes way: the handshake of a node takes a moment,
// and that of a stranger as long as it may.
func (n *Network) take(ctx context.Context, c net.Conn) {
	if n.cfg.Closed != "" {
		_ = c.Close()
		n.logRefusal("from", c.RemoteAddr(), "reason", n.cfg.Closed)
		return
	}
	leave, oldest := n.greets.enter(c)
	if oldest != nil {
		_ = oldest.Close()
		if count, ok := n.overflow.Pass(time.Now()); ok {
			n.log.Warn("too many connections in their handshake, closing the oldest one", "from", oldest.RemoteAddr(),
				"closed", count)
		}
	}
	n.wg.Go(func() { n.serve(ctx, c, leave) })
}

// logRefusal logs that a connection was turned away, at most once a second.
func (n *Network) logRefusal(args ...any) {
	if count, ok := n.refusals.Pass(time.Now()); ok {
		n.log.Info("node connection rejected", append(args, "rejected", count)...)
	}
}

// serve sees an accepted connection through its handshake to its use.
func (n *Network) serve(ctx context.Context, raw net.Conn, leave func()) {
	c := n.track(raw)
	if n.cfg.TLS != nil {
		c.Conn = tls.Server(raw, n.cfg.TLS.Server)
	}
	m, err := n.welcome(c)
	leave()
	if err == nil {
		c.belongTo(m.Remote, m.Purpose)
	}
	switch {
	case err == nil && m.Purpose != Probe && !n.keep(c):
		if count, ok := n.overflow.Pass(time.Now()); ok {
			n.log.Warn("too many connections of other nodes, closing one", "from", raw.RemoteAddr(), "node",
				m.Remote.NodeID, "closed", count)
		}
		_ = c.Close()
	case err != nil:
		n.logRefusal("from", raw.RemoteAddr(), "node", m.Remote.NodeID, "reason", err)
		_ = c.Close()
	case m.Purpose == Stream:
		n.begin(ctx, c, m)
	case m.Purpose == RPC:
		n.answerCalls(ctx, c, m.Remote)
	case m.Purpose == Transfer:
		n.cfg.Transfer(ctx, c, m.Remote)
		_ = c.Close()
	default:
		_ = c.Close()
	}
}

// begin hands a stream over when Config.Begin lets it.
func (n *Network) begin(ctx context.Context, c *tracked, m Meeting) {
	if err := n.cfg.Begin(ctx, m); err != nil {
		n.logRefusal("node", m.Remote.NodeID, "reason", err)
		_ = c.Close()
		return
	}
	n.streams.hand(c)
}

// Streams returns the layer of raw connections.
func (n *Network) Streams() *Streams { return n.streams }

// Advertise returns the address under which others reach this node.
func (n *Network) Advertise() string { return n.cfg.Advertise }
