package requestmemory

import (
	"net"
	"testing"
)

// However many connections a user opens, and whichever of them end, the memory for that user's
// requests is one. Another user's is apart, and nothing is kept of users that are gone.
func TestConnectionsOfAUserShareTheirMemory(t *testing.T) {
	var s shares
	ended, first, other := s.take("ann", 100), s.take("ann", 100), s.take("bob", 100)
	s.release(ended)
	second := s.take("ann", 100)
	if !first.Take(80) || second.Take(80) {
		t.Error("two connections of a user have more memory than the user may have")
	}
	if !other.Take(80) {
		t.Error("a user is refused for what another has taken")
	}
	for _, sh := range []*share{first, second, other} {
		s.release(sh)
	}
	if len(s.byName) > 0 {
		t.Errorf("shares of %d users are kept, whose connections have ended", len(s.byName))
	}
}

// What a stranger holds is charged to its user once it has authenticated, to the strangers again
// after a logout, and to nothing when the connection has ended.
func TestWhatAConnectionHoldsMovesWithIt(t *testing.T) {
	p, from := New(64<<10), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5}
	expect := func(when string, users, strangers int64) {
		t.Helper()
		if u, s := p.Used(), p.unauthenticated.Used(); u != users || s != strangers {
			t.Errorf("%s: users hold %d bytes and strangers %d, want %d and %d", when, u, s, users, strangers)
		}
	}
	a := p.OpenUnauthenticated(from)
	if !a.Take(1000) || a.Take(1000) {
		t.Error("the strangers of one address have not a sixty-fourth of the memory")
	}
	expect("a stranger", 0, 1000)
	a.ToUser("ann")
	expect("a user", 1000, 0)
	if !a.Take(4000) {
		t.Error("a user is refused what a stranger may not have")
	}
	a.ToUnauthenticated(from)
	expect("logged out", 0, 5000)
	a.Close()
	expect("closed", 0, 0)
	if len(p.shares.byName) > 0 {
		t.Errorf("%d shares are kept when no connection is left", len(p.shares.byName))
	}
}
