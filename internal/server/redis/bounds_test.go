package redis

import (
	"testing"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
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

// Each connection takes one descriptor and gives one back, also one that is refused, and one that
// has to give way to another.
func TestDescriptorsAreGivenBack(t *testing.T) {
	for name, most := range map[string]int{"users have all": 2, "strangers give way": 8} {
		t.Run(name, func(t *testing.T) {
			b := descriptors.New(256, func() int { return 0 })
			_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""}, testUser{"ann", "write", "['*']", ""})
			s, stop := openStoppable(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users,
				Descriptors: b.Pool(), MaxClients: most})
			s.as(t, "root").expect("PONG", "PING")
			s.as(t, "ann").expect("PONG", "PING")
			for range 12 {
				c := dial(t, s.addr())
				if most == 2 {
					c.r.Next() // that it is one too many
				}
			}
			stop()
			if left := b.Taken(); left != 0 {
				t.Errorf("%d descriptors are taken when all connections have ended", left)
			}
		})
	}
}
