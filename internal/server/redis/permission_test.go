package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// The keys of a tail are those that it was asked for, whatever the connection has sent since in the same memory.
func TestPermissionOutlivesItsRequest(t *testing.T) {
	root := testUser{"root", "admin", "['*']", ""}
	file, users := newUsersFile(t, root, testUser{"ann", "write", "['0']", "prefixes: ['theirs:', 'mine:']"})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	r, c := s.as(t, "root"), s.as(t, "ann")
	c.do("HELLO", "3")
	c.expect("OK", "TURN.TAIL", "theirs:list", "AFTER", "0", "PUSH")
	c.expect(`"xxxxxmine:aaaaaa"`, "PING", "xxxxxmine:aaaaaa") // lies where the tail's key lay
	r.do("RPUSH", "theirs:list", "seen")
	if got := show(c.receive()); !strings.Contains(got, "seen") {
		t.Fatalf("came %s", got)
	}
	file.write(root, testUser{"ann", "write", "['0']", "prefixes: ['mine:']"})
	if err := users.Reload(); err != nil {
		t.Fatal(err)
	}
	s.UsersChanged()
	r.do("RPUSH", "theirs:list", "hidden")
	if err := c.nc.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for { // the end of the tail may be announced
		v, err := c.r.Next()
		if err != nil {
			return
		}
		if strings.Contains(show(v), "hidden") {
			t.Fatalf("gets %s", show(v))
		}
	}
}
