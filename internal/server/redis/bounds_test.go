package redis

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/resp"
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

// A client that sends on without reading is owed so many replies, and so many bytes of them: then
// its requests wait.
func TestRepliesOwedAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name               string
		maxCount, maxBytes int
		each, owed         int
	}{{"by their number", 3, 1 << 20, 1, 3}, {"by their bytes", 100, 50, 20, 2},
		{"one is never too much", 100, 50, 60, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newReplies(resp.NewWriter(io.Discard), tt.maxCount, tt.maxBytes, new(pushBudget))
				ready, put := make(chan struct{}), 0
				answer := func(*resp.Writer) { <-ready }
				q.put(owed{ready: ready, write: answer})
				synctest.Wait() // it is being waited for
				go func() {
					for range 10 {
						q.put(owed{ready: ready, bytes: tt.each, write: answer})
						put++
					}
				}()
				synctest.Wait()
				if put != tt.owed {
					t.Errorf("%d replies are owed, want %d", put, tt.owed)
				}
				close(ready)
				synctest.Wait()
				if put != 10 {
					t.Errorf("%d requests went on when replies were read, want 10", put)
				}
				q.close()
			})
		})
	}
}

// A message that a client has yet to read may wait while there is memory for it: for one client,
// and for all together. Beyond that, a little may wait for each.
func TestMessagesThatWaitAreBounded(t *testing.T) {
	b := &pushBudget{each: 8 * small, all: 10 * small}
	message := func(size int) pushed { return pushed{bytes: size, share: int64(size)} }
	first, second, third := pushes{budget: b}, pushes{budget: b}, pushes{budget: b}
	for i := range 4 {
		if !first.add(message(2 * small)) {
			t.Fatalf("message %d of a client is refused, although there is memory", i)
		}
	}
	for range 2 {
		if !second.add(message(small / 2)) {
			t.Error("a little is refused for a second client")
		}
	}
	if !third.add(message(2 * small)) {
		t.Error("the only message for a client is refused")
	}
	if third.add(message(small)) {
		t.Error("more than a little is taken for a client when all memory is in use")
	}
	if used := b.used.Load(); used != 9*small {
		t.Errorf("%d bytes are counted when a client was given up, want %d", used, 9*small)
	}
	if first.add(message(small)) {
		t.Error("a client has more than one may have")
	}
	if used := b.used.Load(); used != small {
		t.Errorf("%d bytes are counted when two clients were given up, want %d", used, small)
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
