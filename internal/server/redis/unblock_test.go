package redis

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// A wait that another client ends is over at once, with no result or an error, and its
// connection goes on; in Redis likewise.
func TestUnblock(t *testing.T) {
	t.Run("redis", func(t *testing.T) { unblock(t, realRedis(t)) })
	t.Run("turnlog", func(t *testing.T) {
		addr := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
		unblock(t, addr)
		c, other := dial(t, addr), dial(t, addr)
		id := strconv.FormatInt(c.do("CLIENT", "ID").Int, 10)
		c.block("TURN.TAIL", "k", "BLOCK", "60000")
		other.awaitBlocked(1)
		other.expect("1", "CLIENT", "UNBLOCK", id)
		if got := show(c.receive()); got != "[]" {
			t.Errorf("TURN.TAIL: %s", got)
		}
	})
}

// As soon as CLIENT LIST shows that a request waits, the wait can be ended, and as soon as
// it shows the command, that waits.
func TestUnblockAtOnce(t *testing.T) {
	t.Run("redis", func(t *testing.T) { unblockAtOnce(t, realRedis(t)) })
	t.Run("turnlog", func(t *testing.T) {
		unblockAtOnce(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	})
}

func unblockAtOnce(t *testing.T, addr string) {
	c, other := dial(t, addr), dial(t, addr)
	id := strconv.FormatInt(c.do("CLIENT", "ID").Int, 10)
	for i := range 300 {
		request := [][]string{{"BLPOP", "k", "0"}, {"XREAD", "BLOCK", "0", "STREAMS", "s", "$"}, {"WAIT", "3", "0"},
			{"BLMOVE", "k", "l", "LEFT", "LEFT", "0"}}[i%4]
		cmd := "cmd=" + strings.ToLower(request[0]) + " "
		c.block(request...)
		line := ""
		for deadline := time.Now().Add(20 * time.Second); !strings.Contains(line, cmd); {
			if time.Now().After(deadline) {
				t.Fatalf("never %s: %s", cmd, line)
			}
			line = other.do("CLIENT", "LIST", "ID", id).Text()
		}
		if !strings.Contains(line, " flags=b ") {
			t.Errorf("it is shown before it waits: %s", line)
		}
		other.expect("1", "CLIENT", "UNBLOCK", id)
		other.expect("0", "CLIENT", "UNBLOCK", id)
		want := "null"
		if request[0] == "WAIT" {
			want = "0"
		}
		if got := show(c.receive()); got != want {
			t.Errorf("%q: %s", request, got)
		}
		if line := other.do("CLIENT", "LIST", "ID", id).Text(); !strings.Contains(line, " flags=N ") ||
			!strings.Contains(line, cmd) {
			t.Errorf("it has ended: %s", line)
		}
		if t.Failed() {
			return
		}
	}
}

func unblock(t *testing.T, addr string) {
	c, other := dial(t, addr), dial(t, addr)
	id := strconv.FormatInt(c.do("CLIENT", "ID").Int, 10)
	other.expect("0", "CLIENT", "UNBLOCK", id)
	for _, request := range [][]string{
		{"BLPOP", "k", "l", "0"}, {"BLMOVE", "k", "l", "LEFT", "LEFT", "60"}, {"BLMPOP", "0", "1", "k", "LEFT"},
		{"XREAD", "BLOCK", "0", "STREAMS", "s", "$"}, {"XREAD", "BLOCK", "60000", "STREAMS", "s", "0"},
	} {
		for _, how := range []struct {
			args []string
			want string
		}{
			{nil, "null"}, {[]string{"timeout"}, "null"},
			{[]string{"ERROR"}, "-UNBLOCKED client unblocked via CLIENT UNBLOCK"},
		} {
			c.block(request...)
			other.awaitBlocked(1)
			other.expect("1", append([]string{"CLIENT", "UNBLOCK", id}, how.args...)...)
			if got := show(c.receive()); got != how.want {
				t.Errorf("%q %q: %s, want %s", request, how.args, got, how.want)
			}
			other.awaitBlocked(0)
			other.expect("0", "CLIENT", "UNBLOCK", id)
			c.expect("PONG", "PING")
		}
	}
	// One that it spares is served, and only then not blocked.
	c.block("BLPOP", "k", "0")
	other.awaitBlocked(1)
	other.expect("-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR", "CLIENT", "UNBLOCK", id, "x")
	other.expect("0", "CLIENT", "UNBLOCK", "123456")
	other.expect("1", "RPUSH", "k", "v")
	if got := show(c.receive()); got != `["k" "v"]` {
		t.Error(got)
	}
}

// block sends a request that is not answered yet.
func (c *client) block(args ...string) {
	c.t.Helper()
	c.send(args...)
	if err := c.w.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

// popGate is a real engine that says when elements are to be taken, and takes them when
// that is allowed.
type popGate struct {
	Engine
	submitted, allowed chan struct{}
}

func (g popGate) Submit(ctx context.Context, op turn.Op) command.Pending {
	switch op.(type) {
	case *turn.PopFirst, *turn.Tx:
		g.submitted <- struct{}{}
		<-g.allowed
	}
	return g.Engine.Submit(ctx, op)
}

// Whose wait CLIENT UNBLOCK has ended gets nothing, and who gets something was not
// unblocked, whenever the two meet.
func TestUnblockedOrServed(t *testing.T) {
	g := popGate{openEngine(t, turn.DefaultLimits()), make(chan struct{}), make(chan struct{})}
	addr := open(t, Config{Engine: g}).addr()
	p, other := dial(t, addr), dial(t, addr)
	var waiting, unblocking [4]*client
	var ids [len(waiting)]string
	for i := range waiting {
		waiting[i], unblocking[i] = dial(t, addr), dial(t, addr)
		ids[i] = strconv.FormatInt(waiting[i].do("CLIENT", "ID").Int, 10)
	}
	for range 50 {
		for i, c := range waiting {
			c.block("BLPOP", "k", "0")
			other.awaitBlocked(i + 1)
		}
		p.expect("3", "RPUSH", "k", "a", "b", "c")
		<-g.submitted
		other.expect("1", "CLIENT", "UNBLOCK", ids[3])
		other.expect("0", "CLIENT", "UNBLOCK", ids[3])
		for i, id := range ids[:3] { // each on a connection of its own: it is answered when the pop is
			unblocking[i].send("CLIENT", "UNBLOCK", id)
			unblocking[i].w.Flush()
		}
		other.expect("PONG", "PING")
		g.allowed <- struct{}{}
		for i, want := range []string{`["k" "a"]`, `["k" "b"]`, `["k" "c"]`, "null"} {
			if got := show(waiting[i].receive()); got != want {
				t.Fatalf("client %d: %s, want %s", i, got, want)
			}
			if i < 3 {
				if got := show(unblocking[i].receive()); got != "0" {
					t.Fatalf("CLIENT UNBLOCK of client %d, which is served: %s", i, got)
				}
			}
		}
		p.expect("0", "EXISTS", "k")
	}
}

// Who has the answer to its last request is not listed any more.
func TestEndedClientsAreNotListed(t *testing.T) {
	run := func(t *testing.T, addr string) {
		other := dial(t, addr)
		for range 200 {
			c := dial(t, addr)
			id := strconv.FormatInt(c.do("CLIENT", "ID").Int, 10)
			c.expect("1", "CLIENT", "KILL", "ID", id, "SKIPME", "no")
			if got := other.do("CLIENT", "LIST", "ID", id).Text(); got != "" {
				t.Fatalf("it is still listed: %s", got)
			}
		}
	}
	t.Run("redis", func(t *testing.T) { run(t, realRedis(t)) })
	t.Run("turnlog", func(t *testing.T) {
		run(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	})
}
