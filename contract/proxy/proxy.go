// Package proxy puts a TCP proxy in front of a server, which loses, delays and
// answers requests as it is told. It knows as much of a protocol as it takes to
// tell one request from the next, and to answer an error (see Dialect).
package proxy

import (
	"bufio"
	"errors"
	"sync"

	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/internal/faultproxy"
)

// Proxy is the network half of a contract.Line. Its methods may be called by any
// goroutine.
type Proxy struct {
	dialect Dialect
	proxy   *faultproxy.Proxy

	mu     sync.Mutex
	fault  contract.Fault
	healed chan struct{} // closed when no fault holds
	hits   int
}

// New listens on a free port of this machine for connections to the targets: to the
// one that took the last connection, or to the next that accepts if that does not.
func New(d Dialect, targets ...string) (*Proxy, error) {
	p := &Proxy{dialect: d, healed: make(chan struct{})}
	close(p.healed)
	var err error
	p.proxy, err = faultproxy.New(faultproxy.Config{Targets: targets, Carry: p.carry})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.proxy.Addr() }

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
	p.Heal()
	p.proxy.Close()
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

// carry moves the requests and answers of a connection.
func (p *Proxy) carry(c *faultproxy.Conn) {
	r := &relay{proxy: p, Conn: c}
	var back sync.WaitGroup
	back.Go(r.answers)
	r.requests()
	r.Reset()
	back.Wait()
}

// relay is one connection through the proxy.
type relay struct {
	proxy *Proxy
	*faultproxy.Conn

	mu   sync.Mutex
	cut  bool            // the next answer is lost, with the connection
	hold <-chan struct{} // if set, answers wait for it
	dead bool            // nothing passes any more
}

// requests passes on what the client sends, request by request.
func (r *relay) requests() {
	next := r.proxy.dialect.Reader(bufio.NewReader(r.Client))
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
		if _, err := r.Server.Write(data); err != nil {
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
		_, err := r.Client.Write(text)
		if last {
			r.Client.CloseWrite() // so that the answer arrives before the end
			r.dead = true
		}
		return false, err
	}
	return !r.dead, nil
}

// answers passes on what the server sends.
func (r *relay) answers() {
	defer r.Reset()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Server.Read(buf)
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
		case <-r.Done():
			return false
		}
	}
	_, err := r.Client.Write(data)
	return err == nil
}
