// Package descriptors divides the file descriptors of a process between its log, its state, the connections of other
// nodes, and clients, so that clients cannot use up what the node needs to go on. Open opens the node's own files, and
// waits for a descriptor if there is none at the moment.
//
// A Budget and its Pools may be used by any goroutine.
package descriptors

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Least is how many descriptors a node needs.
const Least = 128

// own is how many are kept for what is open besides connections and block files:
// the log's segments, the state, what a flush and a snapshot open for a moment,
// listeners, the runtime.
const own = 48

// Budget divides the descriptors that a process may have. Its methods may be
// called by any goroutine.
type Budget struct {
	limit int
	files func() int

	mu    sync.Mutex
	taken int // by clients
	known int // … whose user is known
	pools []*Pool
}

// New returns the budget of a process that may have limit descriptors. files
// returns how many the data takes that grow with it; it is asked for each client.
func New(limit int, files func() int) *Budget {
	return &Budget{limit: limit, files: files}
}

// Check returns an error if the process may have fewer descriptors than it needs.
func (b *Budget) Check() error {
	if b.limit >= Least && b.Clients() > 0 {
		return nil
	}
	return fmt.Errorf("the process may have %d open files, and needs at least %d, of which its data takes %d: raise "+
		"the limit (ulimit -n, LimitNOFILE=)",
		b.limit, max(Least, b.Reserved()+1), b.files())
}

// Limit returns how many descriptors the process may have.
func (b *Budget) Limit() int { return b.limit }

// Greetings returns how many connections of other nodes may be in their handshake:
// those of which it is not known yet whose they are.
func (b *Budget) Greetings() int { return min(max(b.limit/16, 8), 256) }

// Members returns how many connections other nodes may have open to this one.
func (b *Budget) Members() int { return min(max(b.limit/8, 32), 512) }

// Reserved returns how many descriptors are kept from clients. As many as Members
// are for the connections from other nodes and for half as many to them.
func (b *Budget) Reserved() int {
	return own + b.Greetings() + b.Members() + b.Members()/2 + b.files()
}

// Clients returns how many clients may be connected at the moment.
func (b *Budget) Clients() int { return max(b.limit-b.Reserved(), 0) }

// Taken returns how many clients are connected.
func (b *Budget) Taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken
}

// Pool returns a share of the clients' descriptors for one listener. Each may take
// three quarters of them, so that a flood at one leaves some for another.
func (b *Budget) Pool() *Pool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Pool{budget: b}
	b.pools = append(b.pools, p)
	return p
}

// Pool is the share of a listener. A nil Pool has no bound.
type Pool struct {
	budget *Budget
	// taken, and what closes an unauthenticated connection and releases its descriptor, are
	// guarded by budget.mu.
	taken   int
	giveWay func() bool
}

// Yields says what closes an unauthenticated connection of this pool, and releases its
// descriptor, when another pool needs it; it reports whether there was one.
func (p *Pool) Yields(giveWay func() bool) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.giveWay = giveWay
}

// MakeRoom has an unauthenticated connection of another pool give way, and reports whether one
// did and this pool may take a descriptor at all.
func (p *Pool) MakeRoom() bool {
	if p == nil {
		return false
	}
	own := p.Size()
	p.budget.mu.Lock()
	var others []func() bool
	for _, o := range p.budget.pools {
		if o != p && o.giveWay != nil && p.taken < own {
			others = append(others, o.giveWay)
		}
	}
	p.budget.mu.Unlock()
	return slices.ContainsFunc(others, func(giveWay func() bool) bool { return giveWay() })
}

// forAdmins is how many of so many connections users who are no administrators leave
// to administrators.
func forAdmins(connections int) int { return min(connections/8, 32) }

// Know notes that a connection that has taken a descriptor is a user's. It reports
// false, and notes nothing, if only administrators may have one more. What it noted is
// undone by Forget.
func (p *Pool) Know(administrator bool) bool {
	if p == nil {
		return true
	}
	all := p.budget.Clients()
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	if !administrator && p.budget.known >= all-forAdmins(all) {
		return false
	}
	p.budget.known++
	return true
}

// Forget notes that the connection is no user's any more.
func (p *Pool) Forget() {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.known--
}

// Size returns how many connections the pool may have at the moment.
func (p *Pool) Size() int {
	if p == nil {
		return math.MaxInt
	}
	n := p.budget.Clients()
	return n - n/4
}

// Take takes a descriptor for a connection, if one may be open more. It must be
// released when the connection is closed.
func (p *Pool) Take() bool {
	if p == nil {
		return true
	}
	all, own := p.budget.Clients(), p.Size()
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	if p.taken >= own || p.budget.taken >= all {
		return false
	}
	p.taken++
	p.budget.taken++
	return true
}

// Release gives back what Take took.
func (p *Pool) Release() {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.taken--
	p.budget.taken--
}
