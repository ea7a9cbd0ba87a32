package redis

import (
	"testing"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
)

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
