package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkSize   = 32 << 10
	chunkQueue  = 256 // chunks in flight in one direction of one connection
	dialTimeout = 2 * time.Second
)

// A Proxy forwards TCP connections to a target, through two Directions.
type Proxy struct {
	target   string
	to, from *Direction // towards the target, and back
	listener net.Listener

	mu     sync.Mutex
	conns  map[*relay]struct{} // open ones; nil when the proxy is closed
	random *rand.Rand          // guarded by mu
	lose   float64             // probability that an answer is lost

	lost    atomic.Int64
	running sync.WaitGroup
}

// NewProxy listens on addr for connections to target. Close ends it.
func NewProxy(addr, target string, to, from *Direction, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, to: to, from: from, listener: l,
		conns: map[*relay]struct{}{}, random: rand.New(rand.NewPCG(seed, 7))}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// LoseAnswers makes the proxy reset a connection, with the given probability,
// whenever the target's answer arrives on it: the request was carried out, and
// the client that made it never knows.
func (p *Proxy) LoseAnswers(probability float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = probability
}

// Lost is how many times that has happened.
func (p *Proxy) Lost() int64 { return p.lost.Load() }

// Reset breaks every open connection.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.conns {
		r.reset()
	}
}

// Abandon leaves every open connection as it is: nothing passes any more, and
// neither end learns what becomes of the other. New connections work. Reset ends
// it.
func (p *Proxy) Abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.conns {
		r.abandoned.Store(true)
	}
}

// Close stops listening, breaks every connection and waits for their end.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Reset()
	p.mu.Lock()
	p.conns = nil
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // out of file descriptors, or the peer has gone already
		}
		p.running.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(near *net.TCPConn) {
	if p.to.Flow().Cut || p.from.Flow().Cut {
		abort(near)
		return
	}
	c, err := net.DialTimeout("tcp", p.target, dialTimeout)
	if err != nil {
		abort(near)
		return
	}
	r := &relay{proxy: p, near: near, far: c.(*net.TCPConn), done: make(chan struct{})}
	if !p.register(r) {
		r.reset()
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { r.pump(r.far, r.near, p.to, nil) })
	pumps.Go(func() { r.pump(r.near, r.far, p.from, p.loses) })
	pumps.Wait()
	r.reset()
	p.mu.Lock()
	delete(p.conns, r)
	p.mu.Unlock()
}

// register notes an open connection, unless the proxy has been closed or cut.
func (p *Proxy) register(r *relay) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil || p.to.Flow().Cut || p.from.Flow().Cut {
		return false
	}
	p.conns[r] = struct{}{}
	return true
}

func (p *Proxy) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == 0 || p.random.Float64() >= p.lose {
		return false
	}
	p.lost.Add(1)
	return true
}

// relay is one connection through a proxy.
type relay struct {
	proxy     *Proxy
	near, far *net.TCPConn
	abandoned atomic.Bool // nothing is delivered any more
	once      sync.Once
	done      chan struct{} // closed by reset
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

// pump moves bytes from src to dst through d until src ends. If loses says so
// when bytes arrive, the connection is broken instead.
func (r *relay) pump(dst, src *net.TCPConn, d *Direction, loses func() bool) {
	queue := make(chan chunk, chunkQueue)
	var writer sync.WaitGroup
	writer.Go(func() { r.deliver(dst, d, queue) })
	defer writer.Wait()
	defer close(queue)
	buf := make([]byte, chunkSize)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if loses != nil && loses() {
				r.reset()
				return
			}
			select {
			case queue <- chunk{data: bytes.Clone(buf[:n]), arrived: time.Now(), dice: rand.Float64()}:
			case <-r.done:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				queueEnd(queue, r.done)
			}
			return
		}
	}
}

// queueEnd puts the end of a broken connection behind what is still in flight:
// a chunk without data.
func queueEnd(queue chan<- chunk, done <-chan struct{}) {
	select {
	case queue <- chunk{arrived: time.Now()}:
	case <-done:
	}
}

// deliver writes what comes out of queue when d lets it pass; after the last
// chunk the other end learns that there is no more.
func (r *relay) deliver(dst *net.TCPConn, d *Direction, queue <-chan chunk) {
	broken := false
	for c := range queue {
		if r.abandoned.Load() {
			<-r.done
		}
		if broken || !d.pass(c, r.done) {
			broken = true // drain, so that the reader is not stuck
			continue
		}
		if c.data == nil {
			r.reset()
			broken = true
			continue
		}
		if _, err := dst.Write(c.data); err != nil {
			r.reset()
			broken = true
		}
	}
	if r.abandoned.Load() {
		<-r.done
	}
	if !broken && d.pass(chunk{arrived: time.Now()}, r.done) {
		dst.CloseWrite()
	}
}
