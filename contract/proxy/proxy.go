// Package proxy puts a TCP proxy in front of a server, which loses, delays and
// answers requests as it is told. It knows as much of a protocol as it takes to
// tell one request from the next, and to answer an error (see Dialect).
package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/contract"
)

const dialTime = 2 * time.Second // for each target

// Proxy is the network half of a contract.Line. Its methods may be called by any
// goroutine.
type Proxy struct {
	targets  []string
	dialect  Dialect
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	fault  contract.Fault
	healed chan struct{} // closed when no fault holds
	hits   int
	conns  map[*relay]struct{} // open ones; nil when the proxy is closed
}

// New listens on a free port of this machine for connections to the first of the
// targets that accepts them.
func New(d Dialect, targets ...string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", strings.Join(targets, ", "), err)
	}
	p := &Proxy{targets: targets, dialect: d, listener: l, healed: make(chan struct{}), conns: map[*relay]struct{}{}}
	close(p.healed)
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Answers lists the errors that can be answered.
func (p *Proxy) Answers() []string { return p.dialect.Answers() }

// Break disturbs requests from now on.
func (p *Proxy) Break(f contract.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.hits = f, 0
	if p.isHealedLocked() {
		p.healed = make(chan struct{})
	}
}

// Heal ends the disturbance: answers that were held back arrive, connections that
// were cut or went silent stay so.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isHealedLocked() {
		close(p.healed)
	}
}

func (p *Proxy) isHealedLocked() bool {
	select {
	case <-p.healed:
		return true
	default:
		return false
	}
}

// Hits is how many requests have met a fault since Break.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// Close breaks every connection and waits for their end.
func (p *Proxy) Close() error {
	p.listener.Close()
	p.Heal()
	p.mu.Lock()
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for r := range conns {
		r.reset()
	}
	p.running.Wait()
	return nil
}

// next returns the fault that the next request meets, if any, and the channel
// that is closed when it is over.
func (p *Proxy) next() (f contract.Fault, healed <-chan struct{}, hit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isHealedLocked() || p.fault.Times > 0 && p.hits >= p.fault.Times {
		return f, nil, false
	}
	if p.fault.Skip > 0 {
		p.fault.Skip--
		return f, nil, false
	}
	p.hits++
	return p.fault, p.healed, true
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the peer has gone already
		}
		p.running.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

// dial returns nil if no target can be reached.
func (p *Proxy) dial() *net.TCPConn {
	for _, target := range p.targets {
		if c, err := net.DialTimeout("tcp", target, dialTime); err == nil {
			return c.(*net.TCPConn)
		}
	}
	return nil
}

func (p *Proxy) serve(near *net.TCPConn) {
	far := p.dial()
	if far == nil {
		abort(near)
		return
	}
	r := &relay{proxy: p, near: near, far: far, done: make(chan struct{})}
	p.mu.Lock()
	open := p.conns != nil
	if open {
		p.conns[r] = struct{}{}
	}
	p.mu.Unlock()
	if !open {
		r.reset()
		return
	}
	var back sync.WaitGroup
	back.Go(r.answers)
	r.requests()
	r.reset()
	back.Wait()
	p.mu.Lock()
	delete(p.conns, r)
	p.mu.Unlock()
}

// relay is one connection through the proxy.
type relay struct {
	proxy     *Proxy
	near, far *net.TCPConn
	once      sync.Once
	done      chan struct{} // closed by reset

	mu   sync.Mutex
	cut  bool            // the next answer is lost, with the connection
	hold <-chan struct{} // if set, answers wait for it
	dead bool            // nothing passes any more
}

func (r *relay) reset() {
	r.once.Do(func() {
		close(r.done)
		abort(r.near)
		abort(r.far)
	})
}

// abort closes c with a reset, so that the other end notices at once.
func abort(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// requests passes on what the client sends, request by request.
func (r *relay) requests() {
	next := r.proxy.dialect.Reader(bufio.NewReader(r.near))
	for {
		data, greeting, err := next()
		if err != nil {
			return
		}
		pass := true
		if !greeting {
			if pass, err = r.disturb(); err != nil {
				return
			}
		}
		if !pass {
			continue
		}
		if _, err := r.far.Write(data); err != nil {
			return
		}
	}
}

var errEnd = errors.New("the connection is to end")

// disturb applies the fault that the next request meets, and says whether the
// request is to be passed on.
func (r *relay) disturb() (pass bool, err error) {
	f, healed, hit := r.proxy.next()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !hit {
		return !r.dead, nil
	}
	switch f.Break {
	case contract.CutBefore:
		return false, errEnd
	case contract.CutAfter:
		r.cut = true
	case contract.Delay:
		r.hold = healed
	case contract.HalfOpen:
		r.dead = true
	case contract.Answer:
		text, last := r.proxy.dialect.Answer(f.Answer)
		_, err := r.near.Write(text)
		if last {
			r.near.CloseWrite() // so that the answer arrives before the end
			r.dead = true
		}
		return false, err
	}
	return !r.dead, nil
}

// answers passes on what the server sends.
func (r *relay) answers() {
	defer r.reset()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.far.Read(buf)
		if n > 0 && !r.answer(buf[:n]) || err != nil {
			return
		}
	}
}

func (r *relay) answer(data []byte) bool {
	r.mu.Lock()
	cut, hold, dead := r.cut, r.hold, r.dead
	r.mu.Unlock()
	switch {
	case dead:
		return true
	case cut:
		return false
	case hold != nil:
		select {
		case <-hold:
		case <-r.done:
			return false
		}
	}
	_, err := r.near.Write(data)
	return err == nil
}
