package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/turn"
)

func TestEveryKindOfErrorHasItsStatus(t *testing.T) {
	d := openDoor(t)
	for kind, want := range statuses {
		failWith(&d.node.writeFault, turn.Errorf(kind, "as it were"))
		e := d.fails(want.code, kind.String(), "POST", "/v1/sessions/a/clear", `{}`)
		unknown := kind == turn.Unknown
		if (e.Outcome == "unknown") != unknown || e.Retry != turn.Errorf(kind, "").Retry() || (e.Revision != nil) != (kind == turn.Conflict) {
			t.Errorf("%v: %+v", kind, e)
		}
		a := d.do("POST", "/v1/sessions/a/clear", `{}`)
		if (a.header.Get("Retry-After") != "") != want.retryAfter || a.header.Get("Content-Type") != "application/json" {
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
	d := openDoor(t)
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
	d := openDoor(t)
	for i := range 600 {
		if _, err := d.node.Apply(t.Context(), &turn.SetMeta{Key: turn.Key{Namespace: "0", Name: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	d.server.stop.Do(func() { close(d.server.stopping) })
	e := d.fails(504, "UNKNOWN_OUTCOME", "DELETE", "/v1/sessions?prefix=&all=true", "")
	if !strings.Contains(e.Message, "after 500 sessions") {
		t.Errorf("%+v", e)
	}
	if n := d.ok("GET", "/v1/sessions?limit=1000", ""); len(n["sessions"].([]any)) != 100 {
		t.Errorf("%d sessions are left", len(n["sessions"].([]any)))
	}
}

func TestHealth(t *testing.T) {
	d := openDoor(t)
	if m := d.ok("GET", "/livez", ""); m["status"] != "ok" || m["version"] != "test" {
		t.Errorf("livez: %v", m)
	}
	if m := d.ok("GET", "/readyz", ""); m["ready"] != true || len(m["reasons"].([]any)) != 0 {
		t.Errorf("readyz: %v", m)
	}
	d.node.notReady.Store(&[]string{"no leader", "catching up"})
	if a := d.do("GET", "/readyz", ""); a.status != 503 || a.body != `{"ready":false,"reasons":["no leader","catching up"]}`+"\n" {
		t.Errorf("readyz: %+v", a)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "somebody_elses", Help: "x"}))
	d := openDoor(t, func(c *Config) { c.Registry = reg })
	d.append("a", "1")
	d.do("GET", "/v1/sessions/x", "")
	d.do("GET", "/nowhere", "")
	d.do("BREW", "/nowhere", "")
	body := d.do("GET", "/metrics", "").body
	for _, want := range []string{
		`turnlog_http_requests_total{method="POST",route="/v1/sessions/{key}/messages",status="200"} 1`,
		`turnlog_http_requests_total{method="GET",route="/v1/sessions/{key}",status="404"} 1`,
		`turnlog_http_requests_total{method="other",route="none",status="404"} 2`,
		`turnlog_http_connections 1`, `somebody_elses 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing: %s\n%s", want, body)
		}
	}
	if _, err := New(Config{Engine: d.node, Registry: reg}); err == nil {
		t.Error("a second server on the same registry is not refused")
	}
}

func TestCluster(t *testing.T) {
	d := openDoor(t)
	d.append("a", "1")
	m := d.ok("GET", "/v1/cluster", "")
	n := m["nodes"].([]any)[0].(map[string]any)
	if m["leader"] != "n1" || n["id"] != "n1" || n["role"] != "leader" || n["applied"] != 1.0 || n["match"] != 1.0 || n["raft_addr"] != "127.0.0.1:7381" {
		t.Errorf("cluster: %v", m)
	}
	if m := d.ok("POST", "/v1/cluster/checksum", ""); m["index"] != 7.0 || m["hash"] != "abc" {
		t.Errorf("checksum: %v", m)
	}
	d.ok("POST", "/v1/cluster/transfer", ``)
	d.ok("POST", "/v1/cluster/snapshot", `{}`)
	d.ok("POST", "/v1/cluster/nodes", `{"id":"n4","raft_addr":"h:1"}`)
	d.ok("DELETE", "/v1/cluster/nodes?id=n4", "")
	d.fails(400, "INVALID", "POST", "/v1/cluster/snapshot", `{"a":1}`)
	d.fails(400, "INVALID", "POST", "/v1/cluster/nodes", `{"id":"n4"}`)
	d.fails(400, "INVALID", "DELETE", "/v1/cluster/nodes", "")
	want := "checksum, transfer, snapshot, add n4 h:1, remove n4"
	if got := strings.Join(d.admin.asked, ", "); got != want {
		t.Errorf("asked: %s; want %s", got, want)
	}
	without := openDoor(t, func(c *Config) { c.Admin = nil })
	without.fails(403, "FORBIDDEN", "POST", "/v1/cluster/snapshot", "")
	without.fails(403, "FORBIDDEN", "DELETE", "/v1/cluster/nodes?id=n1", "")
}

// A page of another origin must not write through its reader's browser.
func TestCrossOriginWritesAreRefused(t *testing.T) {
	d := openDoor(t)
	const path, body = "/v1/sessions/a/messages", `{"messages":[{"data":1}]}`
	d.fails(403, "FORBIDDEN", "POST", path, body, "Sec-Fetch-Site: cross-site", "Origin: https://evil.example")
	d.fails(403, "FORBIDDEN", "POST", path, body, "Origin: https://evil.example")
	d.ok("POST", path, body, "Sec-Fetch-Site: same-origin", "Origin: http://"+d.addr)
	d.ok("GET", path, "", "Sec-Fetch-Site: cross-site")
}

func TestConnectionsAreBounded(t *testing.T) {
	d := openDoor(t, func(c *Config) { c.MaxConns = 3 })
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	eventually(t, "accepted", func() bool { return len(d.connSlots()) == 3 })
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
	eventually(t, "let go", func() bool { return len(d.connSlots()) == 2 })
	d.ok("GET", "/livez", "")
}

// connSlots is as long as there are connections, by the metric.
func (d *door) connSlots() []struct{} {
	ms, err := d.server.cfg.Registry.Gather()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, m := range ms {
		if m.GetName() == "turnlog_http_connections" {
			return make([]struct{}, int(m.GetMetric()[0].GetGauge().GetValue()))
		}
	}
	return nil
}

// Large requests beyond the memory set aside for them are refused at once.
func TestMemoryIsBounded(t *testing.T) {
	d := openDoor(t, func(c *Config) { c.MemoryBytes = 2 << 20 })
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

// A body that never ends costs its sender the connection, and nobody else anything.
func TestUnfinishedRequests(t *testing.T) {
	d := openDoor(t, func(c *Config) { c.Grace = 50 * time.Millisecond })
	for _, head := range []string{
		"", "G", "GET /livez HTTP/1.1\r\nHost", "POST /v1/sessions/a/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"mess",
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
	fmt.Fprint(c, "POST /v1/sessions/a/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"messages\":[{\"data\":2}]}")
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

func TestStopLetsRequestsFinish(t *testing.T) {
	d := openDoor(t)
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := `{"messages":[{"data":1}]}`
	fmt.Fprintf(c, "POST /v1/sessions/a/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:5])
	eventually(t, "begun", func() bool { return d.server.memory.left.Load() < d.server.cfg.MemoryBytes })
	stopped := make(chan error, 1)
	go func() { stopped <- d.stop() }()
	<-d.server.stopping
	_, _ = io.WriteString(c, body[5:])
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("the request under way: %v, %v", resp, err)
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

func TestAccessLog(t *testing.T) {
	var buf lockedBuffer
	d := openDoor(t, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	d.append("secret-session", `"secret words"`)
	d.do("GET", "/v1/sessions/x", "")
	for _, want := range []string{
		`msg="http request" method=POST route=/v1/sessions/{key}/messages status=200`,
		`route=/v1/sessions/{key} status=404`, `error="NOT_FOUND: there is no such session"`,
	} {
		eventually(t, "logged: "+want, func() bool { return strings.Contains(buf.String(), want) })
	}
	if strings.Contains(buf.String(), "secret") {
		t.Errorf("keys or payloads are in the log: %s", buf.String())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
