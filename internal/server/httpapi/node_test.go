package httpapi

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/turnlog/turnlog/internal/logtest"
)

func TestHealth(t *testing.T) {
	d := startServer(t)
	if m := d.ok("GET", "/livez", ""); m["status"] != "ok" || m["version"] != "test" {
		t.Errorf("livez: %v", m)
	}
	if m := d.ok("GET", "/readyz", ""); m["ready"] != true || len(m["reasons"].([]any)) != 0 {
		t.Errorf("readyz: %v", m)
	}
	d.node.notReady.Store(&[]string{"no leader", "catching up"})
	if a := d.do("GET", "/readyz", ""); a.status != 503 ||
		a.body != `{"ready":false,"reasons":["no leader","catching up"]}`+"\n" {
		t.Errorf("readyz: %+v", a)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "somebody_elses", Help: "x"}))
	d := startServer(t, func(c *Config) { c.Registry = reg })
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
	d := startServer(t)
	d.append("a", "1")
	m := d.ok("GET", "/v1/cluster", "")
	n := m["nodes"].([]any)[0].(map[string]any)
	if m["leader"] != "n1" || n["id"] != "n1" || n["role"] != "leader" || n["applied"] != 1.0 || n["match"] != 1.0 ||
		n["raft_addr"] != "127.0.0.1:7381" {
		t.Errorf("cluster: %v", m)
	}
	if m := d.ok("POST", "/v1/cluster/checksum", ""); m["index"] != 7.0 || m["hash"] != "abc" {
		t.Errorf("checksum: %v", m)
	}
	d.ok("POST", "/v1/cluster/transfer", ``)
	d.ok("POST", "/v1/cluster/snapshot", `{}`)
	d.ok("POST", "/v1/cluster/nodes", `{"id":"n4","raft_addr":"h:1"}`)
	d.ok("POST", "/v1/cluster/nodes", `{"id":"n5","raft_addr":"h:2","learner":true}`)
	d.ok("POST", "/v1/cluster/promote", `{"id":"n5"}`)
	d.ok("POST", "/v1/cluster/demote", `{"id":"n4"}`)
	d.ok("DELETE", "/v1/cluster/nodes?id=n4", "")
	d.fails(400, "INVALID", "POST", "/v1/cluster/demote", `{}`)
	d.fails(400, "INVALID", "POST", "/v1/cluster/snapshot", `{"a":1}`)
	d.fails(400, "INVALID", "POST", "/v1/cluster/nodes", `{"id":"n4"}`)
	d.fails(400, "INVALID", "DELETE", "/v1/cluster/nodes", "")
	want := "checksum, transfer, snapshot, add n4 h:1, add learner n5 h:2, promote n5, demote n4, remove n4"
	if got := strings.Join(d.admin.asked, ", "); got != want {
		t.Errorf("asked: %s; want %s", got, want)
	}
	without := startServer(t, func(c *Config) { c.Admin = nil })
	without.fails(403, "FORBIDDEN", "POST", "/v1/cluster/snapshot", "")
	without.fails(403, "FORBIDDEN", "DELETE", "/v1/cluster/nodes?id=n1", "")
}

func TestAccessLog(t *testing.T) {
	var buf logtest.Text
	d := startServer(t, func(c *Config) {
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
