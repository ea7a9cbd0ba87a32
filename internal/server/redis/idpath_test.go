package redis

import (
	"io"
	"net"
	"testing"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// cutter passes requests on and breaks the connection in place of the next reply,
// when it is told to.
type cutter struct {
	l    net.Listener
	addr string
	cut  chan bool // the next reply is not passed on
}

func newCutter(t *testing.T, addr string) *cutter {
	c := &cutter{l: listen(t), addr: addr, cut: make(chan bool, 1)}
	t.Cleanup(func() { c.l.Close() })
	go func() {
		for {
			nc, err := c.l.Accept()
			if err != nil {
				return
			}
			go c.pass(nc)
		}
	}()
	return c
}

func (c *cutter) pass(nc net.Conn) {
	defer nc.Close()
	up, err := net.Dial("tcp", c.addr)
	if err != nil {
		return
	}
	defer up.Close()
	go io.Copy(up, nc)
	b := make([]byte, 64<<10)
	for {
		n, err := up.Read(b)
		if err != nil {
			return
		}
		select {
		case <-c.cut:
			return
		default:
		}
		if _, err := nc.Write(b[:n]); err != nil {
			return
		}
	}
}

// insist sends requests until it has the replies to all, as clients do that send
// blindly again when a connection breaks.
func (c *cutter) insist(t *testing.T, requests ...[]string) (last resp.Value) {
	t.Helper()
	for {
		conn := dial(t, c.l.Addr().String())
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
	}
}

// A push whose reply was lost and that is sent again is stored once.
func TestIDPathRecognisesResentPushes(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), IDPaths: command.IDPaths{"0": {{"data", "id"}, {"id"}}}})
	proxy := newCutter(t, s.addr())
	check := dial(t, s.addr())
	one, two, three := `{"data":{"id":"1"}}`, `{"id":"2"}`, `{"id":"3"}`
	for _, c := range []struct {
		requests [][]string
		list     string
	}{
		{[][]string{{"LPUSH", "s", one}}, `["{\"data\":{\"id\":\"1\"}}"]`},
		{[][]string{{"RPUSH", "s", two, three}}, `["{\"data\":{\"id\":\"1\"}}" "{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"MULTI"}, {"RPUSH", "t", two}, {"RPUSH", "t", three}, {"EXEC"}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"RPUSHX", "t", one}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}" "{\"data\":{\"id\":\"1\"}}"]`},
		// What was deleted is pushed again.
		{[][]string{{"DEL", "t"}, {"RPUSH", "t", two, three}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
		{[][]string{{"MULTI"}, {"DEL", "t"}, {"LPUSH", "t", three, two}, {"EXEC"}}, `["{\"id\":\"2\"}" "{\"id\":\"3\"}"]`},
	} {
		proxy.cut <- true
		last := c.requests[len(c.requests)-1]
		key := c.requests[0][1:]
		if last[0] == "EXEC" {
			key = c.requests[1][1:]
		}
		if v := proxy.insist(t, c.requests...); v.Err() != nil {
			t.Errorf("%q: %v", c.requests, v.Err())
		}
		check.expect(c.list, "LRANGE", key[0], "0", "-1")
	}
	check.expect("-CONFLICT 1 of the 2 messages are known by their ids, but not as one append", "RPUSH", "s", three, `{"id":"4"}`)
	check.expect(`-ID_REUSED id "3" belongs to message 3, which has another payload`, "RPUSH", "s", `{"id":"3","other":1}`)
	check.expect("3", "LLEN", "s")
	check.expect("3", "LPUSH", "s", two) // the length that the list has
	check.expect("4", "RPUSH", "s", "no id")
	check.expect("5", "RPUSH", "s", "no id")
	check.do("SELECT", "1") // where no path is known
	check.expect("1", "RPUSH", "s", two)
	check.expect("2", "RPUSH", "s", two)
}
