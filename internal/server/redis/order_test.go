package redis

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// overtaken is a real engine that answers a List or a Read not before a write of the same key has
// been acknowledged, which an Info that was asked later did not see.
type overtaken struct {
	Engine
	key   turn.Key
	wrote chan struct{} // closed when it has
	once  *sync.Once
}

func (o overtaken) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	switch q.(type) {
	case *turn.List, *turn.Read:
		select {
		case <-o.wrote:
		case <-ctx.Done():
		}
	case *turn.Info:
		defer o.once.Do(func() {
			if _, err := o.Engine.Submit(ctx,
				&turn.Append{Key: o.key, Messages: []turn.NewMessage{{Data: []byte("y")}}}).Wait(); err == nil {
				close(o.wrote)
			}
		})
	}
	return o.Engine.Query(ctx, q, c)
}

// Of two reads of a key in one pipeline, the second one shows no older state, whatever the first
// one asks for: one that does not tell what state answered may have seen the newest.
func TestReadsOfAKeyGoForward(t *testing.T) {
	for first, want := range map[string]string{"LRANGE k 0 -1": `["y"]`, "TURN.READ k CONSISTENCY STALE": "[…"} {
		e := overtaken{openEngine(t, turn.DefaultLimits()), turn.Key{Namespace: "0", Name: "k"}, make(chan struct{}),
			new(sync.Once)}
		c := dial(t, open(t, Config{Engine: e}).addr())
		c.send(strings.Fields(first)...)
		c.send("LLEN", "k")
		c.send("EXISTS", "k", "other")
		for i, want := range []string{want, "1", "1"} {
			if got := show(c.receive()); !like(want, got) {
				t.Errorf("%s and others: reply %d is %s, want %s", first, i, got, want)
			}
		}
	}
}

// asked is a real engine that notes whose copies are asked for.
type asked struct {
	Engine
	index chan uint64
}

func (a asked) Copies(_ context.Context, index uint64, _ int) (own bool, others int) {
	a.index <- index
	return true, 9
}

// WAIT goes by the last write that took place, also if a later one was refused.
func TestWaitBehindARefusedWrite(t *testing.T) {
	e := asked{openEngine(t, turn.DefaultLimits()), make(chan uint64, 9)}
	c := dial(t, open(t, Config{Engine: e}).addr())
	ask := func(writes ...[]string) uint64 {
		for _, w := range append(writes, []string{"WAIT", "1", "100"}) {
			c.send(w...)
		}
		for range writes {
			c.receive()
		}
		if got := show(c.receive()); got != "9" {
			t.Fatalf("WAIT: %s", got)
		}
		return <-e.index
	}
	before := ask([]string{"RPUSH", "list", "a"})
	if after := ask([]string{"RPUSH", "list", "b"}, []string{"INCR", "list"}); after <= before {
		t.Errorf("after a write that was refused, copies of entry %d are asked for, and that of the write before it "+
			"comes after %d", after, before)
	}
	before = ask([]string{"RPUSH", "list", "c"})
	if c.do("RPUSH", "list", "d"); ask() <= before {
		t.Error("a write that was alone does not count")
	}
}

// lateEngine does not tell the outcome of appends. They take place when the next transaction is
// submitted, if those take place.
type lateEngine struct {
	Engine
	mu     sync.Mutex
	late   []turn.Op
	broken bool
}

type endedCall struct{ err *turn.Error }

func (e endedCall) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
func (e endedCall) Wait() (turn.Result, error) { return turn.Result{}, e.err }

func (e *lateEngine) Submit(ctx context.Context, op turn.Op) command.Pending {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch op.(type) {
	case *turn.Append:
		e.late = append(e.late, op)
		return endedCall{turn.Errorf(turn.Unknown, "no outcome within 5s")}
	case *turn.Tx:
		if e.broken {
			return endedCall{turn.Errorf(turn.Unavailable, "no leader")}
		}
		for _, late := range e.late {
			e.Engine.Submit(ctx, late)
		}
		e.late = nil
	}
	return e.Engine.Submit(ctx, op)
}

// A read behind a write whose outcome is unknown waits until that write has taken place, or cannot
// any more: a client that reads in order to learn it would be misled, and write again.
func TestReadsAreConclusiveAfterAnUnknownOutcome(t *testing.T) {
	for _, way := range []string{"one by one", "pipelined", "beside another", "behind one of all keys"} {
		e := &lateEngine{Engine: openEngine(t, turn.DefaultLimits())}
		s := open(t, Config{Engine: e})
		for _, broken := range []bool{true, false, true, false} {
			c := dial(t, s.addr())
			e.mu.Lock()
			e.broken = broken
			e.mu.Unlock()
			c.do("DEL", "k")
			var got string
			switch c.send("RPUSH", "k", "x"); way {
			case "pipelined":
				c.send("LLEN", "k")
				c.receive()
				got = show(c.receive())
			case "beside another":
				c.send("PING")
				c.receive()
				c.receive()
				got = show(c.do("LLEN", "k"))
			case "behind one of all keys":
				c.send("DBSIZE")
				c.receive()
				c.receive()
				got = show(c.do("LLEN", "k"))
			default:
				c.receive()
				got = show(c.do("LLEN", "k"))
			}
			if want := map[bool]string{true: "may take place yet", false: "1"}[broken]; !strings.Contains(got, want) {
				t.Errorf("%s: a read behind a write that is decided late %v: %s, want %s", way, broken, got, want)
			}
			e.mu.Lock()
			e.broken, e.late = false, nil
			e.mu.Unlock()
			if got := show(c.do("LLEN", "other")); got != "0" {
				t.Errorf("and then: %s", got)
			}
			c.nc.Close()
		}
	}
}

// So do all commands that read keys linearizably. Others do not wait: reads that ask for less, and
// what says nothing of keys, need no leader.
func TestCommandsBehindAnUnknownOutcome(t *testing.T) {
	for command, waits := range map[string]bool{
		"LRANGE k 0 -1": true, "SCAN 0": true, "KEYS *": true, "HSCAN h 0": true, "TURN.LIST": true, "WATCH k": true,
		"BLPOP none 0.01": true, "XREAD BLOCK 10 STREAMS x 0": true,
		"TURN.READ k CONSISTENCY STALE": false, "TURN.READ k CONSISTENCY BOUNDED 60000": false,
		"PUBLISH ch m": false, "PUBSUB CHANNELS": false, "INFO server": false, "PING": false, "WAIT 0 1": false,
	} {
		t.Run(command, func(t *testing.T) {
			e := &lateEngine{Engine: openEngine(t, turn.DefaultLimits()), broken: true}
			c := dial(t, open(t, Config{Engine: e}).addr())
			c.do("RPUSH", "k", "x")
			got := show(c.do(strings.Fields(command)...))
			if says := strings.Contains(got, "may take place yet"); says != waits {
				t.Errorf("without a leader: %s", got)
			}
		})
	}
}

// A blocking pop gets what a write of its connection with an unknown outcome has added.
func TestBlockingPopBehindAnUnknownOutcome(t *testing.T) {
	e := &lateEngine{Engine: openEngine(t, turn.DefaultLimits())}
	c := dial(t, open(t, Config{Engine: e}).addr())
	c.do("RPUSH", "k", "x")
	c.expect(`["k" "x"]`, "BLPOP", "k", "0.01")
}
