package redis

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// When others have the descriptors, a stranger gives way to who comes: its own, and one
// of another listener.
func TestStrangersGiveTheirDescriptors(t *testing.T) {
	b := descriptors.New(256, func() int { return 0 })
	pool, other := b.Pool(), b.Pool()
	var theirs atomic.Int64 // strangers
	other.Yields(func() bool {
		if theirs.Load() == 0 {
			return false
		}
		theirs.Add(-1)
		other.Release()
		return true
	})
	s := protected(t, Config{Descriptors: pool})
	first := dial(t, s.addr())
	first.do("PING") // refused, and served
	for other.Take() {
	}
	for b.Taken() < b.Clients() && pool.Take() { // a descriptor of no client
	}
	s.as(t, "ann").expect("PONG", "PING")
	closes(t, first.nc, nil)
	theirs.Store(1)
	s.as(t, "root").expect("PONG", "PING")
	if theirs.Load() != 0 {
		t.Error("the other listener's stranger is still there")
	}
	if c := dial(t, s.addr()); !strings.HasPrefix(show(c.receive()), string("-"+errMaxClients)) {
		t.Error("there is one more descriptor than there are")
	}
}

// A user leaves descriptors to administrators, over all listeners together.
func TestDescriptorsForAdministrators(t *testing.T) {
	b := descriptors.New(256, func() int { return 0 })
	pool, other := b.Pool(), b.Pool()
	for other.Take() && other.Know(false) { // the user's at the other listener
	}
	s := protected(t, Config{Descriptors: pool})
	for {
		c := dial(t, s.addr())
		if strings.HasPrefix(show(c.do("AUTH", "ann", passwordOf("ann"))), "-") {
			break
		}
	}
	if b.Taken() == b.Clients() {
		t.Error("the user has all")
	}
	for range 3 {
		s.as(t, "root").expect("PONG", "PING")
	}
}
