package redis

import (
	"testing"

	"github.com/turnlog/turnlog/internal/faultproxy"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/idpath"
	"github.com/turnlog/turnlog/turn"
)

// insist sends requests, of which a reply gets lost, until it has the replies to all, as
// clients do that send blindly again when a connection breaks.
func insist(t *testing.T, proxy *faultproxy.Proxy, requests ...[]string) (last resp.Value) {
	t.Helper()
	proxy.LoseAnswers(1)
	for {
		conn := dial(t, proxy.Addr())
		for _, args := range requests {
			conn.send(args...)
		}
		conn.w.Flush()
		var err error
		for range requests {
			if last, err = conn.r.Next(); err != nil {
				break
			}
		}
		conn.nc.Close()
		if err == nil {
			return last
		}
		proxy.LoseAnswers(0)
	}
}

// A push whose reply was lost and that is sent again is stored once.
func TestIDPathRecognisesResentPushes(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()),
		IDPaths: idpath.Paths{"0": {{"data", "id"}, {"id"}}}})
	proxy := faultproxy.For(t, faultproxy.Config{Targets: []string{s.addr()}})
	check := dial(t, s.addr())
	one, two, three := `{"data":{"id":"1"}}`, `{"id":"2"}`, `{"id":"3"}`
	for _, c := range []struct {
		requests [][]string
		list     string
	}{
		{[][]string{{"LPUSH", "s", one}}, `["{\"data\":{\"id\":\"1\"}}"]`},
		{[][]string{{"RPUSH", "s", two, three}}, `["{\"data\":{\"id\":\"1\"}}" "{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"MULTI"}, {"RPUSH", "t", two}, {"RPUSH", "t", three}, {"EXEC"}},
			`["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"RPUSHX", "t", one}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}" "{\"data\":{\"id\":\"1\"}}"]`},
		// What was deleted is pushed again.
		{[][]string{{"DEL", "t"}, {"RPUSH", "t", two, three}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"MULTI"}, {"DEL", "t"}, {"LPUSH", "t", three, two}, {"EXEC"}},
			`["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
	} {
		last := c.requests[len(c.requests)-1]
		key := c.requests[0][1:]
		if last[0] == "EXEC" {
			key = c.requests[1][1:]
		}
		if v := insist(t, proxy, c.requests...); v.Err() != nil {
			t.Errorf("%q: %v", c.requests, v.Err())
		}
		check.expect(c.list, "LRANGE", key[0], "0", "-1")
	}
	check.expect("-CONFLICT 1 of the 2 messages are known by their ids, but not as one append", "RPUSH", "s", three,
		`{"id":"4"}`)
	check.expect(`-ID_REUSED id "3" belongs to message 3, which has another payload`, "RPUSH", "s",
		`{"id":"3","other":1}`)
	check.expect("3", "LLEN", "s")
	check.expect("3", "LPUSH", "s", two) // the length that the list has
	check.expect("4", "RPUSH", "s", "no id")
	check.expect("5", "RPUSH", "s", "no id")
	check.do("SELECT", "1") // where no path is known
	check.expect("1", "RPUSH", "s", two)
	check.expect("2", "RPUSH", "s", two)
}
