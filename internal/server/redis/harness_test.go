package redis

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// engine is a node of its own as the server sees it.
type engine struct {
	*raftstore.Node
	*broadcast.Broadcaster
}

func (e engine) Submit(ctx context.Context, op turn.Op) command.Pending {
	return e.Node.Submit(ctx, op)
}

// openEngine runs a cluster of one node until the test ends.
func openEngine(t testing.TB, limits turn.Limits) Engine {
	t.Helper()
	l := listen(t)
	node, err := raftstore.Open(raftstore.Config{
		NodeID: "n1", DataDir: t.TempDir(), Peers: raftstore.Peers{Listener: l}, Limits: limits,
		Consensus: raftstore.Consensus{Heartbeat: 50 * time.Millisecond, Lease: 50 * time.Millisecond,
			Commit: 5 * time.Millisecond},
		// A machine that is busy with other things answers late, not with an error.
		Calls: raftstore.CallBounds{LeaderWait: time.Minute, OutcomeWait: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, node.Run)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err := node.Query(ctx, &turn.Count{Namespace: "0"}, command.Linearizable); err == nil &&
			node.Level() == turn.NewestLevel {
			return engine{node, node.Casts()}
		} else if ctx.Err() != nil {
			t.Fatalf("the node does not get ready, at level %d: %v", node.Level(), err)
		}
	}
}

// background runs f until the test ends and holds it against its error.
func background(t testing.TB, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil {
			t.Errorf("ended with: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// open runs a server on an engine until the test ends.
func open(t testing.TB, cfg Config) *Server {
	s, _ := openStoppable(t, cfg)
	return s
}

func openStoppable(t testing.TB, cfg Config) (s *Server, stop func()) {
	t.Helper()
	if cfg.Listener == nil {
		cfg.Listener = listen(t)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s = New(cfg)
	return s, background(t, s.Run)
}

// client is a connection to a server, ours or a real Redis.
type client struct {
	t  testing.TB
	nc net.Conn
	w  *resp.Writer
	r  *resp.ReplyReader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(2 * time.Minute))
	return clientOn(t, nc)
}

func clientOn(t testing.TB, nc net.Conn) *client {
	return &client{t: t, nc: nc, w: resp.NewWriter(nc), r: resp.NewReplyReader(nc, resp.Limits{})}
}

func (s *Server) addr() string { return s.cfg.Listener.Addr().String() }

// send writes requests without waiting.
func (c *client) send(args ...string) {
	c.w.Command(args...)
}

func (c *client) receive() resp.Value {
	c.t.Helper()
	if err := c.w.Flush(); err != nil {
		c.t.Fatal(err)
	}
	v, err := c.r.Next()
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

func (c *client) do(args ...string) resp.Value {
	c.t.Helper()
	c.send(args...)
	return c.receive()
}

// tryDo is do for goroutines that must not end the test.
func (c *client) tryDo(args ...string) (resp.Value, error) {
	c.send(args...)
	if err := c.w.Flush(); err != nil {
		return resp.Value{}, err
	}
	return c.r.Next()
}

// expect does a request and holds the reply against its short form: see show.
func (c *client) expect(want string, args ...string) {
	c.t.Helper()
	if got := show(c.do(args...)); got != want {
		c.t.Errorf("%.200q: %.300s, want %.300s", args, got, want)
	}
}

// expectClosed checks that the server has closed the connection.
func (c *client) expectClosed() {
	c.t.Helper()
	if v, err := c.r.Next(); err != io.EOF {
		c.t.Errorf("got %s, %v instead of the connection's end", show(v), err)
	}
}

// show writes a reply in a short form: OK, "bulk", 42, 1.5, null, true, -ERR text,
// [elements], {map}, <set>, txt"verbatim".
func show(v resp.Value) string {
	switch v.Kind {
	case resp.SimpleString:
		return string(v.Str)
	case resp.SimpleError, resp.BulkError:
		return "-" + string(v.Str)
	case resp.BulkString:
		return quote(v.Str)
	case resp.Verbatim:
		return v.Format + quote(v.Str)
	case resp.Null:
		return "null"
	case resp.Boolean:
		return []string{"false", "true"}[v.Int]
	case resp.Map:
		return "{" + showAll(v.Elems) + "}"
	case resp.Set:
		return "<" + showAll(v.Elems) + ">"
	case resp.Array, resp.Push:
		return "[" + showAll(v.Elems) + "]"
	}
	return v.Text()
}

func showAll(vs []resp.Value) string {
	parts := make([]string, len(vs))
	for i := range vs {
		parts[i] = show(vs[i])
	}
	return strings.Join(parts, " ")
}
