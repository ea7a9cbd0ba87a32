package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

func TestEveryKindOfErrorHasItsStatus(t *testing.T) {
	d := startServer(t)
	for kind, want := range statuses {
		failWith(&d.node.writeFault, turn.Errorf(kind, "as it were"))
		e := d.fails(want.code, kind.String(), "POST", "/v1/sessions/a/clear", `{}`)
		unknown := kind == turn.Unknown
		if (e.Outcome == "unknown") != unknown || e.Retry != turn.Errorf(kind, "").Retry() ||
			(e.Revision != nil) != (kind == turn.Conflict) {
			t.Errorf("%v: %+v", kind, e)
		}
		a := d.do("POST", "/v1/sessions/a/clear", `{}`)
		if (a.header.Get("Retry-After") != "") != want.retryAfter ||
			a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: header %v", kind, a.header)
		}
	}
	for k := turn.Internal; k.String() != "INTERNAL" || k == turn.Internal; k++ {
		if _, ok := statuses[k]; !ok {
			t.Errorf("%v has no status", k)
		}
	}
}

// An error that does not say what became of a write must not say that nothing did.
func TestUntypedErrorsOfWritesAreUnknown(t *testing.T) {
	d := startServer(t)
	failWith(&d.node.writeFault, errLost)
	if e := d.fails(504, "UNKNOWN_OUTCOME", "POST", "/v1/sessions/a/clear", `{}`); e.Outcome != "unknown" {
		t.Errorf("%+v", e)
	}
	failWith(&d.node.readFault, errLost)
	d.fails(500, "INTERNAL", "GET", "/v1/sessions/a", "")
	failWith(&d.node.writeFault, nil)
	d.node.panics.Store(true)
	d.fails(504, "UNKNOWN_OUTCOME", "POST", "/v1/sessions/a/clear", `{}`)
	d.ok("GET", "/livez", "")
}

func TestDeleteByPrefixStopsHalfWay(t *testing.T) {
	d := startServer(t)
	for i := range 600 {
		if _, err := d.node.Apply(t.Context(),
			&turn.SetMetadata{Key: turn.Key{Namespace: "0", Name: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	d.server.stop.Do(func() { close(d.server.stopping) })
	e := d.fails(504, "UNKNOWN_OUTCOME", "DELETE", "/v1/sessions?prefix=&all=true", "")
	if !strings.Contains(e.Message, fmt.Sprintf("after %d sessions", turn.EraseStep)) {
		t.Errorf("%+v", e)
	}
	if n := d.ok("GET", "/v1/sessions?limit=1000", ""); len(n["sessions"].([]any)) != 600-turn.EraseStep {
		t.Errorf("%d sessions are left", len(n["sessions"].([]any)))
	}
}

// crowded is a node that has room for a number of further steps.
type crowded struct {
	*testNode
	steps int
}

func (c *crowded) Calm(context.Context) error {
	if c.steps--; c.steps < 0 {
		return turn.Errorf(turn.Unavailable, "no room")
	}
	return nil
}

func TestDeleteByPrefixAsksForRoomAfterEachStep(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Engine = &crowded{c.Engine.(*testNode), 2} })
	for i := range 4*turn.EraseStep + 1 {
		d.append(fmt.Sprint(i), "1")
	}
	e := d.fails(504, "UNKNOWN_OUTCOME", "DELETE", "/v1/sessions?prefix=&all=true", "")
	if !strings.Contains(e.Message, fmt.Sprintf("after %d sessions", 3*turn.EraseStep)) {
		t.Errorf("%+v", e)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	d := startServer(t, func(c *Config) { c.MaxConns = 3 })
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	eventually(t, "accepted", func() bool { return d.connections() == 3 })
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || string(b) != tooManyConnections || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth connection: %d %s", resp.StatusCode, b)
	}
	open[0].Close()
	eventually(t, "let go", func() bool { return d.connections() == 2 })
	d.ok("GET", "/livez", "")
}

// connections is the number of open ones, by the metric.
func (d *testServer) connections() int {
	families, err := d.server.cfg.Registry.Gather()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "turnlog_http_connections" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	return 0
}

// Large requests beyond the memory set aside for them are refused at once.
func TestMemoryIsBounded(t *testing.T) {
	d := startServer(t, func(c *Config) { c.MemoryBytes = 8 << 20 / 3 }) // of which one address has 2 MiB
	payload := `"` + strings.Repeat("x", 600<<10) + `"`
	d.append("a", payload)
	d.append("a", payload)
	d.append("a", payload)
	d.ok("GET", "/v1/sessions/a/messages", "")
	d.append("a", payload)
	e := d.fails(503, "OVERLOADED", "GET", "/v1/sessions/a/messages", "")
	if !e.Retry || e.Outcome != "not_applied" {
		t.Errorf("%+v", e)
	}
	d.fails(503, "OVERLOADED", "POST", "/v1/sessions/a/messages", strings.Repeat(" ", 3<<20))
	d.ok("GET", "/v1/sessions/a/messages?last=2", "")
}

// A large answer that its client does not take is cut off, and seen to be cut.
func TestAnswerToASlowReader(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Stall = 200 * time.Millisecond })
	for range 4 {
		d.append("a", `"`+strings.Repeat("x", 7<<20)+`"`)
	}
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\n\r\n")
	eventually(t, "begun", func() bool { return d.server.memory.Left() < d.server.cfg.MemoryBytes })
	eventually(t, "cut off", func() bool { return d.server.memory.Left() == d.server.cfg.MemoryBytes })
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("the answer of %d bytes ended as if it were whole", n)
	}
}

// A body that never ends costs its sender the connection, and no other client anything.
func TestUnfinishedRequests(t *testing.T) {
	d := startServer(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	for _, head := range []string{
		"", "G", "GET /livez HTTP/1.1\r\nHost",
		"POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"mess",
	} {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, head)
	}
	d.append("a", "1")
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: "+
		"100\r\n\r\n{\"messages\":[{\"data\":2}]}")
	_ = c.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 400 || !strings.Contains(string(b), "incomplete") {
		t.Errorf("half a body: %d %s", resp.StatusCode, b)
	}
	if n := d.ok("GET", "/v1/sessions/a", "")["count"]; n != 1.0 {
		t.Errorf("%v messages, want 1", n)
	}
}

// A body that stops arriving is given up after BodyTime, whether it is read or not.
func TestBodiesThatStop(t *testing.T) {
	for name, c := range map[string]struct {
		memory int64
		want   int
		says   string
	}{
		"read":     {64 << 20, 400, "incomplete after 8 bytes: slower than 8 KiB/s for 300ms"},
		"rejected": {1000, 503, "OVERLOADED"},
	} {
		t.Run(name, func(t *testing.T) {
			d := startServer(t, func(cfg *Config) { cfg.MemoryBytes, cfg.BodyTime = c.memory, 300*time.Millisecond })
			a := d.send("POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
				"200000\r\n\r\n{\"messag")
			if a.status != c.want || !strings.Contains(a.body, c.says) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

func TestStopLetsRequestsFinish(t *testing.T) {
	d := startServer(t)
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := `{"messages":[{"data":1}]}`
	fmt.Fprintf(c, "POST /v1/sessions/a/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body[:5])
	eventually(t, "begun", func() bool { return d.server.memory.Left() < d.server.cfg.MemoryBytes })
	stopped := make(chan error, 1)
	go func() { stopped <- d.stop() }()
	<-d.server.stopping
	_, _ = io.WriteString(c, body[5:])
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("the request in flight: %v, %v", resp, err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", d.addr); err == nil {
		t.Error("the stopped server still listens")
	}
}

func TestRunListens(t *testing.T) {
	s, err := New(Config{Engine: newTestNode(t), Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if s, err = New(Config{Engine: newTestNode(t), Addr: busy.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run on an address in use returned nil")
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a server without an engine was made")
	}
}
