package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// examined counts the keys and elements that queries have answered with.
type examined struct {
	Engine
	n atomic.Int64
}

func (e *examined) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	r, err := e.Engine.Query(ctx, q, c)
	e.n.Add(int64(len(r.Sessions) + len(r.Elements)))
	return r, err
}

// scannable makes n keys, and a hash, a set and a sorted set of n elements.
func (c *client) scannable(n int) (names []string) {
	adds := [][]string{{"HSET", "HSCAN"}, {"SADD", "SSCAN"}, {"ZADD", "ZSCAN"}}
	for i := range n {
		name := fmt.Sprintf("f%05d", i)
		names = append(names, name)
		adds[0] = append(adds[0], name, "v")
		adds[1] = append(adds[1], name)
		adds[2] = append(adds[2], "1", name)
		c.send("SET", "key:"+name, "v")
	}
	for range names {
		c.receive()
	}
	for _, add := range adds {
		c.do(add...)
	}
	return names
}

// A cursor that the node did not give is searched for, as far in each call as a call of that COUNT goes at most: then
// it is answered with itself. One that no node gave is an error in the end.
func TestInventedCursorsCostNoMoreThanOthers(t *testing.T) {
	e := &examined{Engine: openEngine(t, turn.DefaultLimits())}
	c := dial(t, open(t, Config{Engine: e}).addr())
	const n = 4000
	c.scannable(n)
	for _, scan := range [][]string{{"SCAN"}, {"HSCAN", "HSCAN"}, {"SSCAN", "SSCAN"}, {"ZSCAN", "ZSCAN"}} {
		for calls := 1; ; calls++ {
			e.n.Store(0)
			got := show(c.do(append(scan, "12345", "COUNT", "100")...))
			if seen := e.n.Load(); seen > 1100 {
				t.Fatalf("%q looks at %d keys or elements in one call", scan, seen)
			}
			if got == "-"+string(command.ErrLostCursor) && calls > 1 {
				break
			}
			if got != `["12345" []]` || calls > 10 {
				t.Fatalf("%q, call %d: %s", scan, calls, got)
			}
		}
	}
}

// An iteration through more than one call searches goes on at nodes that know nothing of it, whichever is asked.
func TestLongScansGoOnAtOtherNodes(t *testing.T) {
	e := openEngine(t, turn.DefaultLimits())
	nodes := []*client{dial(t, open(t, Config{Engine: e}).addr()), dial(t, open(t, Config{Engine: e}).addr())}
	want := nodes[0].scannable(3500)
	for scan, width := range map[string]int{"SCAN": 1, "HSCAN": 2, "SSCAN": 1, "ZSCAN": 2} {
		var got []string
		cursor, calls := "0", 0
		for ; calls == 0 || cursor != "0"; calls++ {
			args := []string{scan, scan, cursor, "COUNT", "500", "MATCH", "*f*"}
			if scan == "SCAN" {
				args = args[1:]
			}
			v := nodes[calls%2].do(args...)
			if len(v.Elems) != 2 || calls > 100 {
				t.Fatalf("%s, call %d: %.200s", scan, calls, show(v))
			}
			cursor = v.Elems[0].Text()
			for es := v.Elems[1].Elems; len(es) > 0; es = es[width:] {
				got = append(got, es[0].Text()[len(es[0].Text())-len(want[0]):])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d elements in %d calls", scan, len(got), len(want), calls)
		}
	}
}

// A cursor is of one key: for another it is none.
func TestCursorsOfOtherKeys(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	for i := range 300 {
		c.do("SADD", "a", strconv.Itoa(i))
		c.do("SADD", "b", strconv.Itoa(i)+"x")
	}
	cursor := c.do("SSCAN", "a", "0").Elems[0].Text()
	c.expect("-"+string(command.ErrLostCursor), "SSCAN", "b", cursor)
	c.expect("-"+string(command.ErrLostCursor), "SCAN", cursor)
}

// The error of a cursor whose key a user may not read is that of one whose key was deleted, and that of one that no
// node gave. Its words are true of all: the key of the first one was not deleted.
func TestLostCursorsSayNeitherMoreNorLess(t *testing.T) {
	_, users := newUsersFile(t, testUser{"root", "admin", "['*']", ""},
		testUser{"ann", "read", "['0']", "prefixes: ['mine:']"})
	e := openEngine(t, turn.DefaultLimits())
	s := open(t, Config{Engine: e, Users: users})
	root, ann := s.as(t, "root"), s.as(t, "ann")
	for i := range 30 {
		root.do("SET", fmt.Sprintf("mine:%02d", i), "v")
		root.do("SET", fmt.Sprintf("theirs:%02d", i), "v")
	}
	hidden := root.do("SCAN", "0", "COUNT", "40").Elems[0].Text()
	deleted := ann.do("SCAN", "0", "COUNT", "10").Elems[0].Text()
	root.do("DEL", "mine:09")                                      // the last that it has shown
	other := open(t, Config{Engine: e, Users: users}).as(t, "ann") // has given no cursors
	for name, cursor := range map[string]string{"hidden": hidden, "invented": "12345", "deleted": deleted} {
		got := show(other.do("SCAN", cursor))
		if got != "-"+string(command.ErrLostCursor) || strings.Contains(got, "deleted") ||
			!strings.Contains(got, "that this user may read") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
