package redis

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// longList makes a list of 100,000 small elements, whose reply takes tens of MiB of memory until it is written.
func (c *client) longList(key string) {
	c.t.Helper()
	push := append([]string{"RPUSH", key}, strings.Fields(strings.Repeat("abc ", 1000))...)
	for range 100 {
		c.send(push...)
	}
	for range 100 {
		c.receive()
	}
}

// Clients that ask for much and do not read take no more memory than there is for replies, a user three quarters of
// it. Others are served meanwhile, and everything is given back.
func TestRepliesHaveABound(t *testing.T) {
	_, users := newUsersFile(t, testUser{"bad", "write", "['0']", ""}, testUser{"good", "write", "['0']", ""})
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), Users: users, ReplyBytes: 48 << 20})
	good := s.as(t, "good")
	good.longList("long")
	good.do("RPUSH", "short", "x")
	before := heap()
	var bad []net.Conn
	for range 10 {
		c := s.as(t, "bad")
		bad = append(bad, c.nc)
		request := strings.Repeat("LRANGE long 0 -1\r\n", 4) +
			strings.Repeat("MULTI\r\nLRANGE long 0 -1\r\nEXEC\r\n", 4)
		if _, err := c.nc.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the share is used", func() bool { return s.Metrics().ReplyBytes > 20<<20 })
	for range 20 {
		good.expect(`["x"]`, "LRANGE", "short", "0", "-1")
		if now := heap(); now > before+250<<20 {
			t.Fatalf("memory rose by %d MiB", (now-before)>>20)
		}
		if held := s.Metrics().ReplyBytes; held > 48<<20 {
			t.Fatalf("%d MiB are held for replies", held>>20)
		}
		time.Sleep(20 * time.Millisecond) // it is the time in which memory could rise
	}
	for _, nc := range bad {
		nc.Close()
	}
	eventually(t, "everything is given back", func() bool { return s.Metrics().ReplyBytes == 0 })
	if v := good.do("LRANGE", "long", "0", "-1"); len(v.Elems) != 100_000 {
		t.Errorf("%.100s", show(v))
	}
}

// A request for which there is no room in time says so, and what is behind it is served.
func TestReplyWithoutRoom(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReplyBytes: 48 << 20,
		ReplyWait: 50 * time.Millisecond})
	c, other := dial(t, s.addr()), clientOn(t, pipe(s))
	c.longList("long")
	var idle []net.Conn
	for held := int64(0); held < 30<<20; { // four of them
		nc := pipe(s) // in which nothing is on its way
		go nc.Write([]byte("LRANGE long 0 -1\r\n"))
		idle = append(idle, nc)
		before := held
		eventually(t, "a reply is held", func() bool {
			held = s.Metrics().ReplyBytes
			return before+8_000_000 < held && held < before+9_000_000
		})
	}
	for _, request := range [][]string{{"LRANGE", "long", "0", "-1"}, {"SCAN", "0", "COUNT", "10000"},
		{"TURN.READ", "long", "LIMIT", "95000"}, {"LPOP", "long", "75000"}} {
		got := show(other.do(request...))
		if request[0] == "SCAN" {
			continue // which has room: there are few keys
		}
		if !strings.HasPrefix(got, "-OVERLOADED replies ") {
			t.Errorf("%s: %.100s", request[0], got)
		}
	}
	other.expect("OK", "MULTI")
	other.expect("QUEUED", "LRANGE", "long", "0", "-1")
	other.expect("QUEUED", "SET", "k", "v")
	if got := show(other.do("EXEC")); !strings.HasPrefix(got, "-OVERLOADED replies ") {
		t.Errorf("EXEC: %.100s", got)
	}
	other.expect("0", "EXISTS", "k")
	other.expect("100000", "LLEN", "long")
	for _, nc := range idle {
		nc.Close()
	}
	eventually(t, "everything is given back", func() bool { return s.Metrics().ReplyBytes == 0 })
	other.expect("100000", "LLEN", "long")
}

// One client that sends several long requests at once gets all replies, although there is room for few at a time.
func TestLongRepliesInAPipeline(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), ReplyBytes: 12 << 20, ReplyWait: time.Minute})
	c := dial(t, s.addr())
	c.longList("long")
	const n = 9
	for i := range n {
		if c.send("LRANGE", "long", "0", "-1"); i%3 == 0 {
			c.send("MULTI")
			c.send("LRANGE", "long", "0", "-1")
			c.send("EXEC")
		}
	}
	for i := range n {
		if v := c.receive(); len(v.Elems) != 100_000 {
			t.Fatalf("reply %d: %.100s", i, show(v))
		}
		if i%3 == 0 {
			c.receive()
			c.receive()
			if v := c.receive(); len(v.Elems) != 1 || len(v.Elems[0].Elems) != 100_000 {
				t.Fatalf("reply %d: %.100s", i, show(v))
			}
		}
	}
	eventually(t, "everything is given back", func() bool { return s.Metrics().ReplyBytes == 0 })
}

// What a transaction reads has the bound that is the same on all nodes, and is charged by that: a node with lower
// limits answers as much.
func TestTransactionsAreChargedByTheirOwnBound(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.MessageBytes, limits.AppendBytes, limits.ReadBytes = 16<<10, 64<<10, 64<<10
	s := open(t, Config{Engine: openEngine(t, limits)})
	c := dial(t, s.addr())
	const n, size = 100, 10_000
	for range n {
		c.do("RPUSH", "l", strings.Repeat("x", size))
	}
	c.do("MULTI")
	c.do("LRANGE", "l", "0", "-1")
	if v := c.do("EXEC"); len(v.Elems) != 1 || len(v.Elems[0].Elems) != n {
		t.Fatalf("%.100s", show(v))
	}
	read := &turn.List{Key: turn.Key{Namespace: "0", Name: "l"}, Stop: -1}
	if got := s.foreseenOf(&turn.Tx{Steps: []turn.Step{{Query: read}}}); got < n*size {
		t.Errorf("%d bytes are foreseen, %d come", got, n*size)
	}
}
