// Package admission bounds the client connections that a server has open. Both servers, Redis and HTTP, use it.
//
// Connections over which no user has authenticated yet are a quarter of all at most. Beyond that, or where there is no
// place left, a new connection replaces the oldest of them: a flood of connections cannot keep out a client that
// authenticates as soon as it is connected. Connections of users never give way. The last places are for
// administrators.
//
// Every open connection also takes a file descriptor from the server's share. If the shares are used up, an
// unauthenticated connection of another server gives way.
//
// The methods of Control and Place may be called by any goroutine.
package admission

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// Control admits the connections of one server.
type Control struct {
	most        int // connections
	descriptors *descriptors.Pool

	mu              sync.Mutex
	open            int
	unauthenticated list.List // of *Place, the oldest first
}

// New returns the control of a server that may have most connections, each with a descriptor from d; a nil d has no
// bound.
func New(most int, d *descriptors.Pool) *Control { return &Control{most: most, descriptors: d} }

// Admit returns a place for a new connection. It returns nil if there is none, even if all unauthenticated connections
// gave way.
func (c *Control) Admit() *Place {
	c.CloseOldest(max(c.Size()/4, 1))
	for !c.take() {
		if !c.CloseOldest(1) && !c.othersGiveWay() {
			return nil
		}
	}
	return &Place{control: c}
}

// Size is how many connections may be open at the moment.
func (c *Control) Size() int { return min(c.most, c.descriptors.Size()) }

func (c *Control) take() bool {
	if !c.descriptors.Take() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.most {
		c.descriptors.Release()
		return false
	}
	c.open++
	return true
}

// othersGiveWay closes an unauthenticated connection of another server, if a descriptor is all that is missing.
func (c *Control) othersGiveWay() bool {
	c.mu.Lock()
	full := c.open >= c.most
	c.mu.Unlock()
	return !full && c.descriptors.MakeRoom()
}

// CloseOldest closes the connection that has been unauthenticated for longest, if there are so many of them at least.
// It reports whether it has closed one.
func (c *Control) CloseOldest(atLeast int) bool {
	c.mu.Lock()
	if c.unauthenticated.Len() < max(atLeast, 1) {
		c.mu.Unlock()
		return false
	}
	p := c.unauthenticated.Front().Value.(*Place)
	p.leaveLocked()
	c.mu.Unlock()
	p.cut()
	p.release()
	return true
}

// keptForAdmins is how many connections other users leave to administrators.
const keptForAdmins = 32

// Place is what an open connection occupies, until Close. A new one is neither authenticated nor waiting to be: that
// of a server without users stays so. A nil Place is that of a connection that is not bounded.
type Place struct {
	control       *Control
	authenticated atomic.Bool // changes with control.mu held

	// Guarded by control.mu:
	closed  bool
	element *list.Element // of control.unauthenticated; nil: it is not in it
	cut     func()
}

// SetUnauthenticated notes that the connection is that of no user yet, or no longer. When it is to give way, cut is
// called once, which must close it without waiting for the client.
func (p *Place) SetUnauthenticated(cut func()) {
	c := p.control
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.closed || p.element != nil {
		return
	}
	p.element, p.cut = c.unauthenticated.PushBack(p), cut
	if p.authenticated.Swap(false) {
		c.descriptors.Forget()
	}
}

// Authenticate notes that a user has authenticated over the connection. It reports false, and notes nothing, if the
// places that are left are for administrators.
func (p *Place) Authenticate(administrator bool) bool {
	if p.Authenticated() {
		return true
	}
	c, size := p.control, p.control.Size()
	c.mu.Lock()
	defer c.mu.Unlock()
	users := c.open - c.unauthenticated.Len()
	switch {
	case p.element == nil: // closed by now, or authenticated
		return true
	case !administrator && users >= size-min(size/8, keptForAdmins):
		return false
	case !c.descriptors.Know(administrator):
		return false
	}
	p.authenticated.Store(true)
	c.unauthenticated.Remove(p.element)
	p.element = nil
	return true
}

// Authenticated reports whether a user has authenticated over the connection. It takes no lock.
func (p *Place) Authenticated() bool { return p.authenticated.Load() }

// Close gives the place to others. It must be called when the connection is closed; a second call, or one for a
// connection that gave way, does nothing.
func (p *Place) Close() {
	if p == nil {
		return
	}
	p.control.mu.Lock()
	closed := p.closed
	p.leaveLocked()
	p.control.mu.Unlock()
	if !closed {
		p.release()
	}
}

// leaveLocked takes the connection off those that are counted.
func (p *Place) leaveLocked() {
	if p.closed {
		return
	}
	p.closed = true
	p.control.open--
	if p.element != nil {
		p.control.unauthenticated.Remove(p.element)
		p.element = nil
	}
}

// release gives back the descriptor of a closed connection.
func (p *Place) release() {
	d := p.control.descriptors
	if p.authenticated.Load() {
		d.Forget()
	}
	d.Release()
}
