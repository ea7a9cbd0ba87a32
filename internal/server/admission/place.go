package admission

import (
	"container/list"
	"sync/atomic"
)

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

// SetUnauthenticated notes that the connection is that of no user yet, or no longer. When it is to give way, cut is called
// once, which must close it without waiting for the client.
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
