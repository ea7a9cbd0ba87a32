package auth

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A connection keeps what it was allowed as long as its user is the same, so any difference counts.
func TestSameUser(t *testing.T) {
	base := func() *User {
		return &User{Right: Write, Namespaces: []string{"0"}, Prefixes: []string{"a:"}, Channels: []string{"c:"}}
	}
	if !base().Same(base()) || !(*User)(nil).Same(nil) {
		t.Error("equal users differ")
	}
	for what, change := range map[string]func(*User){
		"right":           func(u *User) { u.Right = Read },
		"namespace":       func(u *User) { u.Namespaces = []string{"1"} },
		"fewer":           func(u *User) { u.Namespaces = []string{} },
		"prefix":          func(u *User) { u.Prefixes = []string{"a"} },
		"every key":       func(u *User) { u.Prefixes = nil },
		"channel":         func(u *User) { u.Channels = []string{"c:1"} },
		"another channel": func(u *User) { u.Channels = []string{"c:", "d:"} },
		"no list":         func(u *User) { u.Channels = nil },
	} {
		u := base()
		change(u)
		if u.Same(base()) || base().Same(u) {
			t.Errorf("%s: a user that differs is the same", what)
		}
	}
	if base().Same(nil) || (*User)(nil).Same(base()) {
		t.Error("a user is the same as none")
	}
	left, empty := &User{Right: Read}, &User{Right: Read, Channels: []string{}}
	if left.Same(empty) || empty.Same(left) {
		t.Error("a list that is left out is the same as an empty one")
	}
}

// A user whose keys are limited hears no channel, unless the file names channels.
func TestLimitedUserHearsNothing(t *testing.T) {
	u := &User{Right: Read, Namespaces: []string{"*"}, Prefixes: []string{"a:"}}
	if u.MayHear([]string{"0"}, []byte("a:1")) {
		t.Error("it hears a channel")
	}
	u.Channels = []string{}
	if u.MayHear([]string{"0"}, nil) {
		t.Error("it hears every channel")
	}
	u.Prefixes, u.Channels = nil, []string{"chat:"}
	if u.MayHear([]string{"0"}, []byte("chat")) || !u.MayHear([]string{"0"}, []byte("chat:")) {
		t.Error("a prefix of a channel is taken for another one")
	}
}

func TestParseRight(t *testing.T) {
	rights := map[string]Right{"read": Read, "write": Write, "admin": Admin, "none": None, "": None, "root": None}
	for name, want := range rights {
		if got, ok := ParseRight(name); got != want || ok != (want != None) {
			t.Errorf("%q is %v, %v", name, got, ok)
		}
	}
}

// A list without users is asked for once; the last page has no cursor; errors reach the caller.
func TestListAsks(t *testing.T) {
	asked := 0
	ask := func(q turn.Sessions) (turn.Result, error) {
		asked++
		return turn.Result{Sessions: []turn.Session{{Key: turn.Key{Name: q.Prefix + "1"}}}}, nil
	}
	if r, err := (*User)(nil).List(turn.Sessions{Limit: 1}, ask); err != nil || len(r.Sessions) != 1 || asked != 1 {
		t.Errorf("without users: %+v, %v, asked %d times", r, err, asked)
	}
	u := &User{Prefixes: []string{"a", "b"}}
	if r, err := u.List(turn.Sessions{Limit: 2}, ask); err != nil || len(r.Sessions) != 2 || r.Cursor != "" {
		t.Errorf("the only page: %+v, %v", r, err)
	}
	broken := errors.New("broken")
	r, err := u.List(turn.Sessions{Limit: 9}, func(q turn.Sessions) (turn.Result, error) {
		r, err := ask(q)
		if q.Prefix == "b" {
			err = broken
		}
		return r, err
	})
	if !errors.Is(err, broken) || len(r.Sessions) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"": false, "a": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"~": true, "a\x7f": false, "a ": false, "!": true, "a:": false, "a\x00": false, "ä": false,
	} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// At least one password is computed at a time, and at most two.
func TestHashSlots(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var slots []int
	for _, n := range []int{1, 2, 3, 4, 16} {
		runtime.GOMAXPROCS(n)
		slots = append(slots, hashSlots())
	}
	if want := []int{1, 1, 1, 2, 2}; !slices.Equal(slots, want) {
		t.Errorf("%v, want %v", slots, want)
	}
}

// What is proved for one name or password proves nothing for another.
func TestDigestsDiffer(t *testing.T) {
	empty := head + user("ann", "s", "right: read\n    namespaces: ['*']")
	u, _ := open(t, empty)
	other, _ := open(t, empty)
	seen := map[digest]string{}
	for _, c := range [][2]string{{"ann", "s"}, {"bob", "s"}, {"ann", "t"}, {"an", "ns"}, {"anns", ""}} {
		d := u.digest(c[0], c[1])
		if before, ok := seen[d]; ok {
			t.Errorf("%q has the digest of %s", c, before)
		}
		seen[d] = fmt.Sprintf("%q", c)
		if d == other.digest(c[0], c[1]) {
			t.Errorf("%q has the same digest in every process", c)
		}
	}
	if a, b := openSeen(""), openSeen(""); a.state.Key == b.state.Key {
		t.Error("all nodes have the same key")
	}
}
