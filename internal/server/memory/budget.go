// Package memory bounds what the requests and replies of a server take of the node's memory: all together, and those of
// one user or, where there are no users, of one address. Both servers, Redis and HTTP, use it.
package memory

import (
	"context"
	"net"
	"sync"
	"time"
)

// Budget is an amount of memory. One user or address may have three quarters of it. Any goroutine may call its methods.
type Budget struct {
	most, each int64

	mu    sync.Mutex
	used  int64
	held  map[string]int64 // by whom; who holds nothing is not in it
	freed chan struct{}    // closed when something is given back; nil: no request waits for that
}

// New returns a budget of so many bytes.
func New(bytes int64) *Budget {
	return &Budget{most: bytes, each: bytes / 4 * 3, held: make(map[string]int64)}
}

// Who names whose share a client's requests take from: its user or, if that is empty, its address.
func Who(user, addr string) string {
	if user != "" {
		return "user " + user
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	return "from " + host
}

// Each is how many bytes one user or address may have.
func (b *Budget) Each() int64 { return b.each }

// Used returns how many bytes are taken.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Left returns how many bytes are not taken.
func (b *Budget) Left() int64 { return b.most - b.Used() }

// Take takes n bytes for who, or reports that there are not so many left. A negative n gives bytes back.
func (b *Budget) Take(who string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.takeLocked(who, n)
}

// Force takes n bytes, whether they are left or not.
func (b *Budget) Force(who string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(who, n)
}

// TakeWithin is Take that waits for as many bytes to be left.
func (b *Budget) TakeWithin(ctx context.Context, d time.Duration, who string, n int64) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		b.mu.Lock()
		if b.takeLocked(who, n) {
			b.mu.Unlock()
			return true
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (b *Budget) takeLocked(who string, n int64) bool {
	if n > 0 && (b.held[who]+n > b.each || b.used+n > b.most) {
		return false
	}
	b.addLocked(who, n)
	return true
}

func (b *Budget) addLocked(who string, n int64) {
	b.used += n
	if b.held[who] += n; b.held[who] == 0 {
		delete(b.held, who)
	}
	if n < 0 && b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
