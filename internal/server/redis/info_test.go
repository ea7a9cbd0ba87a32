package redis

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// INFO may stand in a transaction, also in one that writes, and between its replies.
func TestInfoInTransaction(t *testing.T) {
	run := func(t *testing.T, addr string) {
		c := dial(t, addr)
		for _, request := range []string{"MULTI", "INFO clients", "SET k v", "INFO server", "GET k",
			"CONFIG GET databases", "CONFIG GET nosuch"} {
			c.do(strings.Fields(request)...)
		}
		v := c.do("EXEC")
		if len(v.Elems) != 6 || !strings.HasPrefix(v.Elems[0].Text(), "# Clients\r\nconnected_clients:1\r\n") ||
			!strings.HasPrefix(v.Elems[2].Text(), "# Server\r\nredis_version:7.") {
			t.Fatal(show(v))
		}
		if got, want := showAll([]resp.Value{v.Elems[1], v.Elems[3], v.Elems[4], v.Elems[5]}),
			`OK "v" ["databases" "16"] []`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		for _, request := range []string{"MULTI", "INFO", "EXEC"} {
			v = c.do(request)
		}
		if len(v.Elems) != 1 || !strings.Contains(v.Elems[0].Text(), "# Keyspace\r\ndb0:keys=1,") {
			t.Fatal(show(v))
		}
	}
	t.Run("redis", func(t *testing.T) { run(t, realRedis(t)) })
	t.Run("turnlog", func(t *testing.T) {
		run(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	})
}

// INFO has the fields that programs watch, and each is a number where Redis's is one.
func TestInfoFields(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	for _, name := range []string{"used_cpu_sys", "used_cpu_user", "used_cpu_sys_children", "used_cpu_user_children",
		"used_memory", "connected_clients", "blocked_clients"} {
		if f, err := strconv.ParseFloat(infoField(c, name), 64); err != nil || f < 0 {
			t.Errorf("%s:%s", name, infoField(c, name))
		}
	}
	if infoField(c, "used_cpu_user") == "0.000000" {
		t.Error("the process has used no time")
	}
}

// ZRANK … WITHSCORE is of Redis 7.2, whose version turnlog shows.
func TestRankWithScore(t *testing.T) {
	c := dial(t, open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr())
	for _, proto := range []struct{ version, score string }{{"2", `"2.5"`}, {"3", "2.5"}} {
		c.do("HELLO", proto.version)
		c.do("DEL", "z")
		c.do("ZADD", "z", "1", "a", "2.5", "b", "3", "c")
		c.expect("[1 "+proto.score+"]", "ZRANK", "z", "b", "WITHSCORE")
		c.expect("[0 "+strings.Replace(proto.score, "2.5", "3", 1)+"]", "ZREVRANK", "z", "c", "withscore")
		c.expect("2", "ZRANK", "z", "c")
		c.expect("null", "ZRANK", "z", "x", "WITHSCORE")
		c.expect("null", "ZRANK", "none", "x", "WITHSCORE")
		c.expect("-ERR syntax error", "ZRANK", "z", "b", "WITHSCORES")
		c.expect("-ERR wrong number of arguments for 'zrank' command", "ZRANK", "z", "b", "WITHSCORE", "x")
		c.do("MULTI")
		c.do("ZRANK", "z", "b", "WITHSCORE")
		c.expect("[[1 "+proto.score+"]]", "EXEC")
	}
	c.do("HELLO", "2")
	for _, request := range []struct{ null, of string }{{"*-1\r\n", "ZRANK z x WITHSCORE"},
		{"$-1\r\n", "ZREVRANK z x"}} {
		c.send(strings.Fields(request.of)...)
		c.w.Flush()
		null := make([]byte, len(request.null))
		if _, err := io.ReadFull(c.nc, null); err != nil || string(null) != request.null {
			t.Errorf("%s: %q, %v, want %q", request.of, null, err, request.null)
		}
	}
	c.do("SET", "s", "x")
	c.expect("-"+string(command.ErrWrongType), "ZRANK", "s", "b", "WITHSCORE")
}
