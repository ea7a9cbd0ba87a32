package redis

import (
	"strconv"
	"testing"

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
			{nil, "null"}, {[]string{"timeout"}, "null"}, {[]string{"ERROR"}, "-UNBLOCKED client unblocked via CLIENT UNBLOCK"},
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
