package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// submits counts the writes that reach the engine.
type submits struct {
	Engine
	n atomic.Int64
}

func (s *submits) Submit(ctx context.Context, op turn.Op) command.Pending {
	s.n.Add(1)
	return s.Engine.Submit(ctx, op)
}

// EXEC is one operation, so one log entry, however much is queued.
func TestTransactionIsOneOperation(t *testing.T) {
	e := &submits{Engine: openEngine(t, turn.DefaultLimits())}
	c := dial(t, open(t, Config{Engine: e}).addr())
	c.expect("OK", "WATCH", "l", "h")
	c.expect("OK", "MULTI")
	for range 10 {
		c.expect("QUEUED", "RPUSH", "l", "a", "b")
		c.expect("QUEUED", "HSET", "h", "f", "v")
		c.expect("QUEUED", "MSET", "a", "1", "b", "2")
		c.expect("QUEUED", "LRANGE", "l", "0", "-1")
	}
	if v := c.do("EXEC"); len(v.Elems) != 40 {
		t.Fatalf("EXEC: %s", show(v))
	}
	if n := e.n.Load(); n != 1 {
		t.Errorf("%d operations", n)
	}
	c.expect("OK", "MSET", "a", "1", "b", "2")
	if n := e.n.Load(); n != 2 {
		t.Errorf("MSET is %d operations", n-1)
	}
}

// Counters incremented by reading and writing lose nothing, with retries on a
// failed EXEC: sent all at once, and singly.
func TestWatchedCounters(t *testing.T) {
	addr := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())}).addr()
	const clients, each = 6, 30
	var failed atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, addr)
		wg.Go(func() {
			for done := 0; done < each; {
				c.send("WATCH", "n")
				c.send("GET", "n")
				if c.receive().Text() != "OK" {
					t.Error("WATCH failed")
					return
				}
				n, _ := strconv.Atoi(c.receive().Text())
				next := strconv.Itoa(n + 1)
				for _, args := range [][]string{{"MULTI"}, {"SET", "n", next}, {"RPUSH", "seen", next}} {
					if c.send(args...); i%2 == 0 {
						c.receive()
					}
				}
				c.send("EXEC")
				if i%2 == 1 {
					for range 3 {
						c.receive()
					}
				}
				if c.receive().IsNull() {
					failed.Add(1)
				} else {
					done++
				}
			}
		})
	}
	wg.Wait()
	c := dial(t, addr)
	c.expect(fmt.Sprintf("%q", strconv.Itoa(clients*each)), "GET", "n")
	for i, v := range c.do("LRANGE", "seen", "0", "-1").Elems {
		if v.Text() != strconv.Itoa(i+1) {
			t.Fatalf("element %d is %s", i, v.Text())
		}
	}
	if failed.Load() == 0 {
		t.Error("no EXEC failed: nothing was tested")
	}
}

func TestTransactionBounds(t *testing.T) {
	e := openEngine(t, turn.DefaultLimits())
	c := dial(t, open(t, Config{Engine: e, PipelineBytes: 100_000}).addr())
	c.expect("OK", "MULTI")
	for range 3 {
		c.send("SET", "k", strings.Repeat("x", 40_000))
	}
	c.receive()
	c.receive()
	if got := show(c.receive()); !like("-TOO_LARGE …", got) {
		t.Errorf("got %s", got)
	}
	c.expect("-"+string(transaction.ErrExecAbort), "EXEC")
	c.expect("0", "EXISTS", "k")

	c = dial(t, open(t, Config{Engine: e}).addr())
	c.expect("OK", "MULTI")
	for range turn.MaxSteps + 1 {
		c.send("PING")
	}
	for range turn.MaxSteps {
		if v := c.receive(); v.Text() != "QUEUED" {
			t.Fatal(show(v))
		}
	}
	if got := show(c.receive()); !like("-TOO_LARGE …", got) {
		t.Errorf("got %s", got)
	}
	c.expect("OK", "DISCARD")

	// A key that is too long is not kept.
	c.expect("OK", "MULTI")
	c.expect("-TOO_LARGE session key has 600 bytes, the limit is 512", "SET", strings.Repeat("k", 600), "v")
	c.expect("QUEUED", "SET", "k", "v")
	c.expect("-"+string(transaction.ErrExecAbort), "EXEC")
}

func TestBlockedStreamRead(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	reader, writer := dial(t, s.addr()), dial(t, s.addr())
	writer.do("XADD", "b", "1-1", "f", "v")
	reader.send("XREAD", "BLOCK", "30000", "STREAMS", "a", "b", "$", "$")
	reader.w.Flush()
	for other := writer; ; { // until it blocks
		if strings.Contains(other.do("CLIENT", "LIST").Text(), "cmd=xread") {
			break
		}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // $ may be looked up after some of these
		defer close(ended)
		for i := 2; !signal.Closed(stop); i++ {
			writer.do("XADD", "b", strconv.Itoa(i), "f", "v")
		}
	}()
	if got := show(reader.receive()); !like(`[["b" [["…-0" ["f" "v"]]…]]]`, got) {
		t.Errorf("got %s", got)
	}
	close(stop)
	<-ended
	reader.expect("null", "XREAD", "BLOCK", "5", "STREAMS", "a", "b", "$", "$")
	writer.do("RPUSH", "l", "x")
	reader.expect("-"+string(command.ErrWrongType), "XREAD", "BLOCK", "0", "STREAMS", "a", "l", "$", "$")
}

// HSCAN of a long hash goes on at another node, which knows nothing of it.
func TestScanOfFields(t *testing.T) {
	e := openEngine(t, turn.DefaultLimits())
	a, b := dial(t, open(t, Config{Engine: e}).addr()), dial(t, open(t, Config{Engine: e}).addr())
	for name, width := range map[string]int{"HSCAN": 2, "SSCAN": 1, "ZSCAN": 2} {
		add := map[string][]string{"HSCAN": {"HSET", name}, "SSCAN": {"SADD", name}, "ZSCAN": {"ZADD", name}}[name]
		var want, got []string
		for i := range 1000 {
			field := fmt.Sprintf("f%04d", i)
			want = append(want, field)
			switch name {
			case "HSCAN":
				add = append(add, field, "v")
			case "SSCAN":
				add = append(add, field)
			case "ZSCAN":
				add = append(add, "1", field)
			}
		}
		a.expect("1000", add...)
		for cursor, node, other := "0", a, b; ; node, other = other, node {
			v := node.do(name, name, cursor, "COUNT", "200", "MATCH", "f*")
			for es := v.Elems[1].Elems; len(es) > 0; es = es[width:] {
				got = append(got, es[0].Text())
			}
			if cursor = v.Elems[0].Text(); cursor == "0" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d elements: %.200q", name, len(got), got)
		}
	}
	a.expect("-"+string(command.ErrLostCursor), "HSCAN", "HSCAN", "12345")
}

// A tail is cut where an answer may have no more, but never to nothing: a client that reads on from the last seq
// until nothing comes has everything.
func TestTailCutByBytesGoesOn(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.ReadBytes = 10_000
	c := dial(t, open(t, Config{Engine: openEngine(t, limits)}).addr())
	const n = 15
	for range n {
		c.do("TURN.APPEND", "s", "MSG", "", strings.Repeat("x", 3000))
	}
	seen, replies := 0, 0
	for {
		got := c.do("TURN.TAIL", "s", "AFTER", strconv.Itoa(seen), "COUNT", "8").Elems
		if len(got) == 0 {
			break
		}
		if replies++; len(got) == 8 {
			t.Fatal("the answer has more than the bound")
		}
		for _, m := range got {
			if seen++; m.Elems[0].Int != int64(seen) {
				t.Fatalf("seq %d comes after %d", m.Elems[0].Int, seen-1)
			}
		}
	}
	if seen != n {
		t.Errorf("%d messages in %d replies", seen, replies)
	}
}

// What is too long for one answer is refused, never cut.
func TestValuesAreNeverCut(t *testing.T) {
	limits := turn.DefaultLimits()
	limits.ReadBytes = 10_000
	c := dial(t, open(t, Config{Engine: openEngine(t, limits)}).addr())
	long := strings.Repeat("x", 1000)
	for i := range 15 {
		n := strconv.Itoa(i + 1)
		c.do("HSET", "h", n, long)
		c.do("SADD", "s", n+long)
		c.do("ZADD", "z", n, n+long)
		c.do("XADD", "x", n, "f", long)
	}
	for _, args := range [][]string{{"HGETALL", "h"}, {"SMEMBERS", "s"}, {"ZRANGE", "z", "0", "-1"},
		{"XRANGE", "x", "-", "+"}} {
		if got := show(c.do(args...)); !like("-TOO_LARGE …", got) {
			t.Errorf("%q: %.200s", args, got)
		}
	}
	mget := []string{"MGET"}
	for i := range 15 {
		mget = append(mget, "string"+strconv.Itoa(i))
		c.do("SET", mget[i+1], long)
	}
	if got := show(c.do(mget...)); !like("-TOO_LARGE …", got) {
		t.Errorf("MGET: %.200s", got)
	}
	if v := c.do(mget[:9]...); len(v.Elems) != 8 {
		t.Errorf("MGET: %.200s", show(v))
	}
	for _, block := range [][]string{nil, {"BLOCK", "100"}} {
		args := slices.Concat([]string{"XREAD", "COUNT", "8"}, block, []string{"STREAMS", "x", "x", "0", "0"})
		if got := show(c.do(args...)); !like("-TOO_LARGE …", got) {
			t.Errorf("%q: %.200s", args, got)
		}
	}
	if v := c.do("XRANGE", "x", "-", "+", "COUNT", "5"); len(v.Elems) != 5 {
		t.Errorf("XRANGE: %.200s", show(v))
	}
}

func TestSentinelNamesTheLeader(t *testing.T) {
	cl := turn.Cluster{Leader: "n2", Term: 7, Nodes: []turn.Node{
		{ID: "n1", RESPAddr: "10.0.0.1:7379", Reachable: true}, {ID: "n2", RESPAddr: "[::1]:7389", Reachable: true},
		{ID: "n3", RESPAddr: "10.0.0.3:7399"},
	}}
	e := &clusterEngine{Engine: openEngine(t, turn.DefaultLimits()), cluster: &cl}
	c := dial(t, open(t, Config{Engine: e, NodeID: "n1"}).addr())
	c.expect(`["::1" "7389"]`, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	for _, check := range [][2]string{
		{"MASTERS", `[["name" "mymaster" "ip" "::1" "port" "7389" "runid" "n2" "flags" "master" …]]`},
		{"MASTER mymaster", `["name" "mymaster" …"num-slaves" "2" "num-other-sentinels" "2" "quorum" "2" …]`},
		{"REPLICAS mymaster", `[["name" "10.0.0.1:7379" …"flags" "slave" …] ["name" "10.0.0.3:7399" …"flags" "slave,s_down,disconnected" …]]`},
		{"SENTINELS mymaster", `[["name" "n2" …] ["name" "n3" …]]`},
	} {
		if got := show(c.do(append([]string{"SENTINEL"}, strings.Fields(check[0])...)...)); !like(check[1], got) {
			t.Errorf("%s: %s", check[0], got)
		}
	}
	c.do("CLIENT", "SETINFO", "LIB-NAME", "SE.Redis")
	if got := show(c.do("SENTINEL", "MASTERS")); !like("-ERR unknown command…", got) {
		t.Errorf("got %s", got)
	}
	cl.Leader = ""
	c = dial(t, open(t, Config{Engine: e}).addr())
	c.expect("null", "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")
	if got := show(c.do("SENTINEL", "MASTERS")); !like(`…"flags" "master,s_down,o_down"…`, got) {
		t.Errorf("got %s", got)
	}
}

type clusterEngine struct {
	Engine
	cluster *turn.Cluster
}

func (e *clusterEngine) Cluster(context.Context) (turn.Cluster, error) { return *e.cluster, nil }
