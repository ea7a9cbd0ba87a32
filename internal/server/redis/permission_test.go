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

// TURN.META without a change is a read: a user who may only read may send it, alone and in a transaction. Any other
// form takes the right to write.
func TestMetadataIsReadWithTheRightToRead(t *testing.T) {
	_, users := newUsersFile(t, testUser{"writer", "write", "['0']", ""}, testUser{"reader", "read", "['0']", ""},
		testUser{"neighbour", "read", "['0']", "prefixes: ['other:']"})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users})
	w, r := s.as(t, "writer"), s.as(t, "reader")
	w.do("TURN.APPEND", "s", "SET", "color", "red", "MSG", "m", "x")
	if got, want := show(r.do("TURN.META", "s")), show(w.do("TURN.META", "s")); got != want ||
		!strings.Contains(got, "red") {
		t.Errorf("a reader gets %s; a writer %s", got, want)
	}
	r.do("MULTI")
	r.do("TURN.META", "s")
	if got := show(r.do("EXEC")); !strings.Contains(got, "red") {
		t.Errorf("in a transaction, a reader gets %s", got)
	}
	for _, change := range []string{"TURN.META s SET color blue", "TURN.META s UNSET color", "TURN.META s EXPECT 1",
		"TURN.META s EXPECT 1 SET color blue"} {
		if got := show(r.do(strings.Fields(change)...)); !strings.HasPrefix(got, "-NOPERM") {
			t.Errorf("%s: a reader gets %s", change, got)
		}
	}
	if got := show(s.as(t, "neighbour").do("TURN.META", "s")); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("who may not read the key gets %s", got)
	}
}
