// Package faultproxy is a TCP proxy for tests and trials. It does to connections what
// networks do to them: it refuses and resets them, delays their bytes, keeps them back
// in one direction, leaves connections half-open, and loses answers. What needs to
// know a protocol moves the bytes itself: see Config.Carry.
package faultproxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const dialTimeout = 2 * time.Second // for each target

// Config describes a Proxy.
type Config struct {
	Listen string // its address; empty: a free port of 127.0.0.1
	// Targets are the addresses that connections go to: to the one that took the last
	// connection, or to the next that accepts if that does not.
	Targets []string
	// To and From are what happens to bytes towards the target, and back. Proxies may
	// share them. Nil: everything passes.
	To, From *Direction
	Seed     uint64 // decides which answers are lost
	// Carry moves the bytes of a connection in place of To and From, in as many
	// goroutines as it likes. The connection is reset when it returns. It returns soon
	// after a reset, after which reading and writing fail.
	Carry func(*Conn)
}

// A Proxy forwards TCP connections to a target. Its methods may be called by any
// goroutine.
type Proxy struct {
	cfg      Config
	listener net.Listener
	running  sync.WaitGroup
	lost     atomic.Int64

	mu     sync.Mutex
	conns  map[*Conn]struct{} // open ones; nil when the proxy is closed
	target int                // index of the target that gets the next connection
	random *rand.Rand
	lose   float64 // probability that an answer is lost
}

// New listens and forwards connections until Close.
func New(cfg Config) (*Proxy, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.To == nil {
		cfg.To = new(Direction)
	}
	if cfg.From == nil {
		cfg.From = new(Direction)
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", strings.Join(cfg.Targets, ", "), err)
	}
	p := &Proxy{cfg: cfg, listener: l, conns: map[*Conn]struct{}{}, random: rand.New(rand.NewPCG(cfg.Seed, 7))}
	p.running.Go(p.accept)
	return p, nil
}

// For is a proxy that ends with a test.
func For(t interface {
	Helper()
	Cleanup(func())
	Fatal(...any)
}, cfg Config) *Proxy {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target is the address of the target that gets the next connection, if it accepts it.
func (p *Proxy) Target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cfg.Targets[p.target]
}

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

func (p *Proxy) losesAnswer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == 0 || p.random.Float64() >= p.lose {
		return false
	}
	p.lost.Add(1)
	return true
}

// Reset breaks every open connection.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Reset()
	}
}

// Abandon leaves every open connection as it is: nothing passes any more, and
// neither end learns what becomes of the other. New connections work. Reset ends
// it.
func (p *Proxy) Abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.abandoned.Store(true)
	}
}

// Drain stops listening and waits until every connection has ended by itself.
func (p *Proxy) Drain() {
	p.listener.Close()
	p.running.Wait()
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
			continue // out of file descriptors, or the client has gone already
		}
		p.running.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	if p.isCut() {
		abort(client)
		return
	}
	server := p.dial()
	if server == nil {
		abort(client)
		return
	}
	c := &Conn{Client: client, Server: server, proxy: p, done: make(chan struct{})}
	defer c.Reset()
	if !p.register(c) {
		return
	}
	if p.cfg.Carry != nil {
		p.cfg.Carry(c)
	} else {
		c.carry()
	}
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// carry moves bytes both ways until both have ended.
func (c *Conn) carry() {
	var pumps sync.WaitGroup
	pumps.Go(func() { c.pump(c.Server, c.Client, c.proxy.cfg.To, nil) })
	pumps.Go(func() { c.pump(c.Client, c.Server, c.proxy.cfg.From, c.proxy.losesAnswer) })
	pumps.Wait()
}

func (p *Proxy) isCut() bool { return p.cfg.To.Flow().Cut || p.cfg.From.Flow().Cut }

// dial returns nil if no target can be reached.
func (p *Proxy) dial() *net.TCPConn {
	for range p.cfg.Targets {
		target := p.Target()
		if c, err := net.DialTimeout("tcp", target, dialTimeout); err == nil {
			return c.(*net.TCPConn)
		}
		p.mu.Lock()
		if p.cfg.Targets[p.target] == target {
			p.target = (p.target + 1) % len(p.cfg.Targets)
		}
		p.mu.Unlock()
	}
	return nil
}

// register notes an open connection, unless the proxy has been closed or cut.
func (p *Proxy) register(c *Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil || p.isCut() {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}
