package redis

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Elements pushed at one node go to those who wait at all nodes, each to one.
func TestBlockingPops(t *testing.T) {
	ms := openCluster(t)
	const waiters, elements = 9, 180
	var mu sync.Mutex
	got := make(map[string]int)
	var wg sync.WaitGroup
	for i := range waiters {
		c := dial(t, ms[i%3].addr())
		wg.Go(func() {
			for {
				v := c.do("BLPOP", "none", "q", "0")
				if len(v.Elems) != 2 || string(v.Elems[0].Str) != "q" {
					t.Errorf("BLPOP: %s", show(v))
					return
				}
				if string(v.Elems[1].Str) == "end" {
					return
				}
				mu.Lock()
				got[string(v.Elems[1].Str)]++
				mu.Unlock()
			}
		})
	}
	p := dial(t, ms[0].addr())
	for i := range elements {
		p.do("RPUSH", "q", strconv.Itoa(i))
	}
	for range waiters {
		p.do("RPUSH", "q", "end")
	}
	wg.Wait()
	for i := range elements {
		if n := got[strconv.Itoa(i)]; n != 1 {
			t.Errorf("element %d was popped %d times", i, n)
		}
	}
	p.expect("0", "EXISTS", "q")
}

func TestBlockingEnds(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c, p := dial(t, s.addr()), dial(t, s.addr())
	for _, args := range [][]string{{"BLPOP", "q", "0.02"}, {"BRPOPLPUSH", "q", "r", "0.02"},
		{"BLMOVE", "q", "r", "LEFT", "LEFT", "0.02"}, {"BLMPOP", "0.02", "1", "q", "LEFT"}} {
		begun := time.Now()
		c.expect("null", args...)
		if took := time.Since(begun); took < 20*time.Millisecond {
			t.Errorf("%q took %v", args, took)
		}
	}
	// While it waits, a key may become something else; a list counts when it comes.
	c.send("BLPOP", "other", "q", "20")
	c.w.Flush()
	p.awaitBlocked(1)
	p.do("SET", "other", "x")
	p.do("RPUSH", "q", "a", "b")
	if got := show(c.receive()); got != `["q" "a"]` {
		t.Errorf("BLPOP: %s", got)
	}
	c.expect("-"+string(command.ErrWrongType), "BLPOP", "other", "q", "20")
	// In a transaction nothing waits.
	for _, args := range [][]string{{"MULTI"}, {"BLPOP", "q", "0"}, {"BLPOP", "q", "0"},
		{"BLMOVE", "q", "r", "LEFT", "LEFT", "0"}} {
		c.do(args...)
	}
	c.expect(`[["q" "b"] null null]`, "EXEC")
	// Nothing is taken for a client that has gone.
	gone := dial(t, s.addr())
	gone.send("BLPOP", "q", "0")
	gone.w.Flush()
	p.awaitBlocked(1)
	gone.nc.Close()
	eventually(t, "the client has gone", func() bool { return s.Metrics().Connections == 2 })
	p.expect("1", "RPUSH", "q", "stays")
	p.expect(`["stays"]`, "LRANGE", "q", "0", "-1")
	// WAIT counts what a blocking command wrote.
	c.do("BLPOP", "q", "1")
	c.expect("0", "WAIT", "0", "100")
}

// WAIT says how many other nodes have a write, not how many there are.
func TestWaitIsTruthful(t *testing.T) {
	ms := openCluster(t)
	_, others := leaderOf(t, ms)
	c := dial(t, others[0].addr())
	for i := range 20 {
		c.do("RPUSH", "s", strconv.Itoa(i))
		if n := c.do("WAIT", "1", "20000").Int; n < 1 {
			t.Fatalf("WAIT 1: %d", n)
		}
		if v := show(c.do("WAITAOF", "1", "2", "20000")); v != "[1 2]" {
			t.Fatalf("WAITAOF 1 2: %s", v)
		}
		c.expect("2", "WAIT", "2", "20000")
	}
	for _, args := range [][]string{{"WAITAOF", "2", "0", "0"}, {"WAITAOF", "0", "-1", "0"}, {"WAITAOF", "0", "0", "x"},
		{"WAITAOF", "0", "0", "-1"}} {
		if got := show(c.do(args...)); got[0] != '-' {
			t.Errorf("%q: %s", args, got)
		}
	}
	others[1].stop()
	for _, write := range [][]string{{"RPUSH", "s", "x"}, {"BLPOP", "s", "1"}, {"FLUSHDB"}, {"MULTI"}} {
		c.do(write...)
		if write[0] == "MULTI" {
			c.do("SET", "k", "v")
			c.do("PUBLISH", "c", "m")
			c.do("EXEC")
		}
		c.expect("1", "WAIT", "2", "100")
		c.expect("[1 1]", "WAITAOF", "1", "2", "100")
		begun := time.Now()
		c.expect("1", "WAIT", "1", "0")
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("WAIT 1 took %v", took)
		}
	}
}

// awaitBlocked waits until INFO counts n requests that block.
func (c *client) awaitBlocked(n int) {
	c.t.Helper()
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(c.do("INFO", "clients").Text(), want); {
		if time.Now().After(deadline) {
			c.t.Fatalf("never %d blocked clients", n)
		}
	}
}

// INFO counts who waits.
func TestBlockedClients(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	waiting, other := dial(t, s.addr()), dial(t, s.addr())
	waiting.send("BLPOP", "k", "0")
	if err := waiting.w.Flush(); err != nil {
		t.Fatal(err)
	}
	other.awaitBlocked(1)
	other.do("RPUSH", "k", "v")
	other.awaitBlocked(0)
	if got := show(waiting.receive()); got != `["k" "v"]` {
		t.Error(got)
	}
}

// Who waits for a list gets its elements when another key is renamed to it.
func TestRenamedListIsWaitedFor(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	for _, rename := range []string{"RENAME", "RENAMENX"} {
		waiting, other := dial(t, s.addr()), dial(t, s.addr())
		waiting.send("BLPOP", "k", "0")
		if err := waiting.w.Flush(); err != nil {
			t.Fatal(err)
		}
		other.awaitBlocked(1)
		other.do("LPUSH", "former", "a", "b")
		other.do(rename, "former", "k")
		if got := show(waiting.receive()); got != `["k" "b"]` {
			t.Errorf("%s: %s", rename, got)
		}
		other.expect(`1`, "DEL", "k")
	}
}

// Who waits for a stream does not mind what else the key holds in between.
func TestXReadWaitsThroughOtherTypes(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	waiting, other := dial(t, s.addr()), dial(t, s.addr())
	other.do("XADD", "k", "1-1", "a", "b")
	waiting.send("XREAD", "BLOCK", "60000", "STREAMS", "k", "$")
	if err := waiting.w.Flush(); err != nil {
		t.Fatal(err)
	}
	other.awaitBlocked(1)
	other.do("DEL", "k")
	other.do("RPUSH", "k", "v")
	other.expect(`-WRONGTYPE Operation against a key holding the wrong kind of value`, "XREAD", "BLOCK", "1",
		"STREAMS", "k", "$")
	other.do("DEL", "k")
	other.do("XADD", "k", "2-1", "c", "d")
	if got := show(waiting.receive()); got != `[["k" [["2-1" ["c" "d"]]]]]` {
		t.Error(got)
	}
}
