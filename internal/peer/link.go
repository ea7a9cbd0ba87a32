package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

var (
	// ErrNotSent: there is no connection to the peer. The request was not sent.
	ErrNotSent = errors.New("peer: not connected")
	// ErrOverloaded: a bound was reached, here or at the peer. The request was
	// not handled.
	ErrOverloaded = errors.New("peer: too many requests in flight")
	// ErrLost: the connection broke before the answer came. The request may have
	// been handled.
	ErrLost = errors.New("peer: connection lost before the answer came")
	// ErrAnswerTooLarge: there is an answer, and no frame has room for it.
	ErrAnswerTooLarge = errors.New("peer: " + beyondFrame)
)

// RemoteError is an error that the peer's handler returned.
type RemoteError struct{ Text string }

func (e *RemoteError) Error() string { return "peer: the other node failed: " + e.Text }

// A link asks one peer. Its goroutine keeps a connection to it.
type link struct {
	net  *Network
	id   string
	addr string
	stop context.CancelFunc // nil until started

	mu      sync.Mutex
	box     *outbox // of the current connection; nil while there is none
	pending map[uint64]*call
	bytes   int // payload bytes of pending
	last    uint64
	why     error // of the last failed connection
}

type call struct {
	size int
	done func([]byte, error)
}

// SetPeers replaces the set of peers, by node id. A peer whose address changes
// is connected again.
func (n *Network) SetPeers(addrs map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, l := range n.links {
		if addrs[id] == l.addr {
			continue
		}
		delete(n.links, id)
		if l.stop != nil {
			l.stop()
		}
	}
	for id, addr := range addrs {
		if n.links[id] != nil {
			continue
		}
		l := &link{net: n, id: id, addr: addr, pending: make(map[uint64]*call)}
		n.links[id] = l
		if n.running != nil && !n.closed {
			n.startLocked(l)
		}
	}
}

func (n *Network) startLocked(l *link) {
	ctx, cancel := context.WithCancel(n.running)
	l.stop = cancel
	n.wg.Go(func() { l.run(ctx) })
}

// peerAt returns the id of the peer at an address; empty: there is none.
func (n *Network) peerAt(addr string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, l := range n.links {
		if l.addr == addr {
			return id
		}
	}
	return ""
}

// Send sends a request to peer id and returns at once. Requests that one
// goroutine sends reach the wire in that order. Done is called exactly once, by
// another goroutine or, if the request cannot be sent, by Send itself; it must
// not block. The payload must not change before that.
func (n *Network) Send(id string, kind Kind, payload []byte, done func([]byte, error)) {
	n.mu.Lock()
	l := n.links[id]
	n.mu.Unlock()
	if l == nil {
		done(nil, fmt.Errorf("%w: node %s is not a peer", ErrNotSent, id))
		return
	}
	if _, err := l.send(kind, payload, done); err != nil {
		done(nil, err)
	}
}

// Call sends a request to peer id and waits for the answer. If ctx ends first
// the request may still be handled.
func (n *Network) Call(ctx context.Context, id string, kind Kind, payload []byte) ([]byte, error) {
	n.mu.Lock()
	l := n.links[id]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("%w: node %s is not a peer", ErrNotSent, id)
	}
	type answer struct {
		payload []byte
		err     error
	}
	got := make(chan answer, 1)
	ticket, err := l.send(kind, payload, func(p []byte, err error) { got <- answer{p, err} })
	if err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.payload, a.err
	case <-ctx.Done():
		l.cancel(ticket)
		return nil, ctx.Err()
	}
}

// Connected reports whether the RPC connection to peer id is open.
func (n *Network) Connected(id string) bool {
	n.mu.Lock()
	l := n.links[id]
	n.mu.Unlock()
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.box != nil
}

// ticket identifies a pending call on the connection that it was sent on.
type ticket struct {
	id  uint64
	box *outbox
}

// send registers and queues a request. If it fails, done will not be called.
func (l *link) send(kind Kind, payload []byte, done func([]byte, error)) (ticket, error) {
	cfg := &l.net.cfg
	if len(payload) > cfg.Bounds.Frame {
		return ticket{}, fmt.Errorf("%w: request of %d bytes, the limit is %d", ErrNotSent, len(payload),
			cfg.Bounds.Frame)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.box == nil {
		if l.why != nil {
			return ticket{}, fmt.Errorf("%w to node %s at %s: %w", ErrNotSent, l.id, l.addr, l.why)
		}
		return ticket{}, fmt.Errorf("%w to node %s at %s yet", ErrNotSent, l.id, l.addr)
	}
	if len(l.pending) >= cfg.Bounds.Calls || l.bytes > 0 && l.bytes+len(payload) > cfg.Bounds.InFlight {
		return ticket{}, ErrOverloaded
	}
	l.last++
	t := ticket{l.last, l.box}
	if err := l.box.put(frame{typ: frameRequest, id: t.id, tag: byte(kind), payload: payload}); err != nil {
		if errors.Is(err, errOutboxFull) {
			return ticket{}, ErrOverloaded
		}
		return ticket{}, fmt.Errorf("%w to node %s at %s: %w", ErrNotSent, l.id, l.addr, err)
	}
	l.pending[t.id] = &call{len(payload), done}
	l.bytes += len(payload)
	return t, nil
}

func (l *link) cancel(t ticket) {
	if l.take(t.id) != nil {
		_ = t.box.put(frame{typ: frameCancel, id: t.id}) // best effort
	}
}

// take removes a pending call; nil if there is none (any more).
func (l *link) take(id uint64) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.pending[id]
	if c != nil {
		delete(l.pending, id)
		l.bytes -= c.size
	}
	return c
}

// run keeps a connection until ctx ends.
func (l *link) run(ctx context.Context) {
	cfg := &l.net.cfg
	pause := cfg.Timing.RetryMin
	for ctx.Err() == nil {
		stood, err := l.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if stood {
			pause = cfg.Timing.RetryMin
		}
		l.mu.Lock()
		if l.why == nil || l.why.Error() != err.Error() {
			l.net.log.Info("cannot connect to peer", "peer", l.id, "addr", l.addr, "error", err)
		}
		l.why = err
		l.mu.Unlock()
		select {
		case <-time.After(pause/2 + rand.N(pause/2)):
		case <-ctx.Done():
		}
		pause = min(2*pause, cfg.Timing.RetryMax)
	}
}

// connect opens a connection and uses it until it breaks. It returns whether it
// came to stand, and why it does no longer.
func (l *link) connect(ctx context.Context) (stood bool, err error) {
	c, _, err := l.net.open(ctx, RPC, l.addr, l.id)
	if err != nil {
		return false, err
	}
	box := newOutbox(l.net.cfg.Bounds.Waiting)
	l.mu.Lock()
	l.box, l.why = box, nil
	l.mu.Unlock()
	l.net.log.Debug("connected to peer", "peer", l.id, "addr", l.addr)
	l.net.cfg.Connected(l.id)

	var wg sync.WaitGroup
	heard := newHeard()
	over, cancel := context.WithCancel(ctx)
	wg.Go(func() {
		defer cancel()
		_ = box.run(c)
	})
	wg.Go(func() {
		watch(over, c, box, heard, &l.net.cfg)
		_ = c.Close() // wakes reader and writer
		box.close()
	})
	err = l.read(c, heard)
	cancel()
	wg.Wait()
	l.fail(err)
	return true, err
}

// watch pings the other side until ctx ends or it has been silent for too long.
func watch(ctx context.Context, c net.Conn, box *outbox, heard *heard, cfg *Config) {
	tick := time.NewTicker(cfg.Timing.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if silent := heard.silent(); silent > cfg.Timing.Idle {
			cfg.Logger.Info("closing the connection to a silent peer", "addr", c.RemoteAddr(), "silent", silent)
			return
		}
		_ = box.put(frame{typ: framePing}) // if it is full, something else is in flight
	}
}

// read hands answers to their calls until the connection breaks.
func (l *link) read(c net.Conn, heard *heard) error {
	r := bufio.NewReaderSize(&noting{c, heard}, 64<<10)
	for {
		f, err := readFrame(r, l.net.cfg.Bounds.Frame)
		if err != nil {
			return err
		}
		if f.typ != frameResponse {
			continue // a pong
		}
		c := l.take(f.id)
		switch {
		case c == nil: // given up
		case f.tag == statusOK:
			c.done(f.payload, nil)
		case f.tag == statusOverloaded:
			c.done(nil, ErrOverloaded)
		case string(f.payload) == beyondFrame:
			c.done(nil, ErrAnswerTooLarge)
		default:
			c.done(nil, &RemoteError{string(f.payload)})
		}
	}
}

// fail ends all calls of a broken connection.
func (l *link) fail(why error) {
	l.mu.Lock()
	lost := l.pending
	l.pending = make(map[uint64]*call)
	l.bytes = 0
	l.box = nil
	l.mu.Unlock()
	for _, c := range lost {
		c.done(nil, fmt.Errorf("%w (node %s: %v)", ErrLost, l.id, why))
	}
}
