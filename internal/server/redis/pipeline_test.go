package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// A pipeline is answered in order, and each read sees exactly the writes before
// it, although they travel together.
func TestPipelineOrder(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c := dial(t, s.addr())
	var want []string
	for i := range 300 {
		key := "k" + strconv.Itoa(i%3)
		c.send("RPUSH", key, strconv.Itoa(i))
		want = append(want, strconv.Itoa(i/3+1))
		if i%10 == 0 {
			c.send("LINDEX", key, "-1")
			c.send("PING")
			c.send("NOSUCH")
			want = append(want, strconv.Quote(strconv.Itoa(i)), "PONG",
				"-ERR unknown command 'NOSUCH', with args beginning with: ")
		}
		if i%50 == 0 {
			c.send("DBSIZE")
			want = append(want, strconv.Itoa(min(i+1, 3)))
		}
	}
	for i, w := range want {
		if got := show(c.receive()); got != w {
			t.Fatalf("reply %d is %s, want %s", i, got, w)
		}
	}
}

// Writes of a pipeline share log entries: they are not awaited one by one.
func TestPipelineSharesLogEntries(t *testing.T) {
	e := openEngine(t, turn.DefaultLimits())
	c := dial(t, open(t, Config{Engine: e}).addr())
	applied := func() uint64 {
		cl, err := e.Cluster(context.Background())
		if err != nil || len(cl.Nodes) != 1 {
			t.Fatal(cl, err)
		}
		return cl.Nodes[0].Applied
	}
	before := applied()
	for range 1000 {
		c.send("RPUSH", "k", "x")
	}
	for i := range 1000 {
		if v := c.receive(); v.Int != int64(i+1) {
			t.Fatalf("reply %d is %s", i, show(v))
		}
	}
	if n := applied() - before; n > 500 { // a fast disk has few of them wait for each entry
		t.Errorf("1000 writes of a pipeline took %d log entries", n)
	}
}

// gate is a real engine whose outcomes stay unknown until it is opened.
type gate struct {
	Engine
	open chan struct{}
}

type gated struct {
	command.Pending
	ctx  context.Context
	done chan struct{}
}

func (g gate) Submit(ctx context.Context, op turn.Op) command.Pending {
	p := gated{g.Engine.Submit(ctx, op), ctx, make(chan struct{})}
	go func() {
		defer close(p.done)
		select {
		case <-g.open:
			<-p.Pending.Done()
		case <-ctx.Done():
		}
	}()
	return p
}

func (p gated) Done() <-chan struct{} { return p.done }

func (p gated) Wait() (turn.Result, error) {
	<-p.done
	if p.ctx.Err() != nil {
		return turn.Result{}, turn.Errorf(turn.Unknown, "the node stopped")
	}
	return p.Pending.Wait()
}

// What is answered is not held back by what is not, and reads of other keys do
// not wait for a write.
func TestSlowWriteHoldsBackOnlyItsKey(t *testing.T) {
	g := gate{openEngine(t, turn.DefaultLimits()), make(chan struct{})}
	c := dial(t, open(t, Config{Engine: g}).addr())
	c.send("PING")
	c.send("RPUSH", "a", "1")
	c.expect("PONG", "LLEN", "b")
	c.send("LRANGE", "a", "0", "-1")
	c.w.Flush()
	close(g.open)
	for _, want := range []string{"1", "0", `["1"]`} {
		if got := show(c.receive()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A write whose outcome does not become known keeps its connection; at the end of
// the server's timeout it is answered so that no client repeats it blindly.
func TestShutdownAnswersWhatIsUnknown(t *testing.T) {
	g := gate{openEngine(t, turn.DefaultLimits()), make(chan struct{})}
	s, stop := openStoppable(t, Config{Engine: g, ShutdownTimeout: 100 * time.Millisecond})
	c := dial(t, s.addr())
	c.send("RPUSH", "k", "x")
	c.send("TURN.APPEND", "k", "MSG", "id", "x")
	c.send("LLEN", "k")
	c.send("PING")
	c.w.Flush()
	other := dial(t, s.addr())
	other.do("PING")
	stop()
	for _, want := range []string{"-UNKNOWNRESULT the write may or may not have been applied; …", "-UNKNOWN_OUTCOME …",
		"…", "PONG"} {
		if got := show(c.receive()); !like(want, got) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	c.expectClosed()
	other.expectClosed()
}

func TestShutdownFinishesWhatIsInFlight(t *testing.T) {
	g := gate{openEngine(t, turn.DefaultLimits()), make(chan struct{})}
	s, stop := openStoppable(t, Config{Engine: g})
	c, tail := dial(t, s.addr()), dial(t, s.addr())
	for range 100 {
		c.send("RPUSH", "k", "x")
	}
	c.w.Flush()
	tail.send("TURN.TAIL", "other", "BLOCK", "0")
	tail.w.Flush()
	eventually(t, "the requests arrive", func() bool { return s.Metrics().BytesReceived >= 100*29+48 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	// A waiting request ends at once, an unfinished write when it is finished.
	if got := show(tail.receive()); got != "[]" {
		t.Errorf("TURN.TAIL: %s", got)
	}
	tail.expectClosed()
	close(g.open)
	for i := range 100 {
		if got := c.receive(); got.Int != int64(i+1) {
			t.Fatalf("reply %d: %s", i, show(got))
		}
	}
	c.expectClosed()
	<-stopped
}

// Clients that share a connection do not wait for each other's log entries in turn.
func TestReadsAndWritesOfManyKeysOverlap(t *testing.T) {
	e := &together{gate: gate{openEngine(t, turn.DefaultLimits()), make(chan struct{})}}
	c := dial(t, open(t, Config{Engine: e}).addr())
	for i := range 100 {
		c.send("RPUSH", fmt.Sprint("w", i), "x")
		c.send("LLEN", fmt.Sprint("r", i))
	}
	for i := range 200 {
		if got, want := show(c.receive()), fmt.Sprint(1-i%2); got != want {
			t.Fatalf("reply %d is %s, want %s", i, got, want)
		}
	}
}

// together is a real engine that answers no read and no write before several reads wait for it.
type together struct {
	gate
	reads atomic.Int32
}

func (e *together) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if e.reads.Add(1) == 4 {
		close(e.open)
	}
	select {
	case <-e.open:
	case <-ctx.Done():
	}
	return e.Engine.Query(ctx, q, c)
}

func TestTail(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	reader, writer := dial(t, s.addr()), dial(t, s.addr())
	tail := func(after string, then func()) string {
		reader.send("TURN.TAIL", "s", "AFTER", after, "BLOCK", "20000")
		reader.send("PING")
		reader.w.Flush()
		then()
		got := reader.receive()
		if pong := show(reader.receive()); pong != "PONG" {
			t.Errorf("then %s", pong)
		}
		var b strings.Builder
		for _, m := range got.Elems {
			fmt.Fprintf(&b, "%d:%s ", m.Elems[0].Int, m.Elems[3].Str)
		}
		return b.String()
	}
	push := func(text string) func() { return func() { writer.do("RPUSH", "s", text) } }
	if got := tail("0", push("one")); got != "1:one " {
		t.Errorf("got %s", got)
	}
	if got := tail("1", push("two")); got != "2:two " {
		t.Errorf("got %s", got)
	}
	// Deleted and created again, while a client waits and while none does.
	if got := tail("2", func() { writer.do("DEL", "s"); push("three")() }); got != "1:three " {
		t.Errorf("got %s", got)
	}
	if got := tail("9", func() {}); got != "1:three " {
		t.Errorf("got %s", got)
	}
	// A client that goes away ends the wait.
	before := s.Metrics().Connections
	reader.send("TURN.TAIL", "s", "AFTER", "1", "BLOCK", "0")
	reader.w.Flush()
	reader.nc.Close()
	eventually(t, "the connection ends", func() bool { return s.Metrics().Connections == before-1 })
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
