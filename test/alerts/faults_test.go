package alerts

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/auth/certs"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// start runs a cluster of the built binary.
func start(t *testing.T, nodes int, prepare func(*testcluster.Node), flags ...string) *testcluster.Cluster {
	t.Helper()
	binary := os.Getenv("TURNLOG_BINARY")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "turnlog")
		build(t, binary, "dev")
	}
	c, err := testcluster.New(testcluster.Config{Binary: binary, Dir: memory(t), Nodes: nodes, Flags: flags,
		CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, n := range c.Nodes {
		if prepare != nil {
			prepare(n)
		}
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func build(t *testing.T, binary, version string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-ldflags", "-X main.version="+version, "-o", binary,
		"github.com/turnlog/turnlog/cmd/turnlog")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func addrs(c *testcluster.Cluster) (list []string) {
	for _, n := range c.Nodes {
		list = append(list, n.HTTPAddr)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// leaderFirst returns the leader, and the others.
func leaderFirst(t *testing.T, c *testcluster.Cluster) (leader *testcluster.Node, others []*testcluster.Node) {
	t.Helper()
	leader, err := c.WaitLeader(t.Context(), nil)
	must(t, err)
	for _, n := range c.Nodes {
		if n != leader {
			others = append(others, n)
		}
	}
	return leader, others
}

// Nodes that die, one by one, hand-overs, and writes that lose their majority on the way.
func TestDeadNodes(t *testing.T) {
	require(t, "prometheus")
	c := start(t, 3, nil)
	p := startPrometheus(t, "http", addrs(c)...)
	p.within("all are scraped", func() bool { return p.up() == 3 })
	p.firesOnly()
	_, others := leaderFirst(t, c)
	must(t, others[0].Kill())
	p.firesOnly("TurnlogDown", "TurnlogMemberUnreachable")
	must(t, others[0].Start())
	p.firesOnly()
	for range 8 {
		leader, _ := leaderFirst(t, c)
		must(t, leader.Call(t.Context(), "POST", "/v1/cluster/transfer", nil, nil))
		_, err := c.WaitLeader(t.Context(), leader)
		must(t, err)
	}
	p.fires("TurnlogLeaderChanges")
	leader, others := leaderFirst(t, c)
	for _, n := range others {
		must(t, n.Pause())
	}
	body := map[string]any{"messages": []map[string]any{{"id": "1", "data": 1}}}
	if err := leader.Call(t.Context(), "POST", "/v1/sessions/s/messages", body, nil); err == nil {
		t.Error("a write took place without a majority")
	}
	p.fires("TurnlogDown", "TurnlogNoLeader", "TurnlogUnknownOutcomes")
	for _, n := range others {
		must(t, n.Resume())
	}
	p.firesOnly("TurnlogLeaderChanges", "TurnlogUnknownOutcomes")
}

// A damaged state, repaired by the others when its node starts.
func TestDamagedState(t *testing.T) {
	require(t, "prometheus")
	c := start(t, 3, nil)
	p := startPrometheus(t, "http", addrs(c)...)
	p.within("all are scraped", func() bool { return p.up() == 3 })
	_, others := leaderFirst(t, c)
	must(t, others[0].Kill())
	state, err := os.ReadDir(others[0].Dir)
	must(t, err)
	damaged := false
	for _, f := range state {
		if f.Name() == "state.db" {
			file := filepath.Join(others[0].Dir, f.Name())
			b, err := os.ReadFile(file)
			must(t, err)
			for i := range b {
				b[i] ^= 0x20
			}
			must(t, os.WriteFile(file, b, 0o600))
			damaged = true
		}
	}
	if !damaged {
		t.Fatalf("there is no state file in %v", state)
	}
	must(t, others[0].Start())
	p.firesOnly("TurnlogStateRepaired")
}

// A backup that is old: the metric is that of the file that the command has written.
func TestOldBackup(t *testing.T) {
	require(t, "prometheus")
	dir := t.TempDir()
	if os.Getenv("TURNLOG_BINARY") == "" {
		t.Setenv("TURNLOG_BINARY", filepath.Join(t.TempDir(), "turnlog"))
		build(t, os.Getenv("TURNLOG_BINARY"), "dev")
	}
	c := start(t, 1, nil)
	file := filepath.Join(dir, "metrics")
	backup := exec.Command(os.Getenv("TURNLOG_BINARY"), "backup", dir+"/", "--addr", c.Nodes[0].RESPAddr,
		"--metrics-file", file)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exporter := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(exporter.Close)
	p := startPrometheus(t, "http", append(addrs(c), exporter.Listener.Addr().String())...)
	const age = "time() - max by (cluster) (turnlog_backup_last_success_timestamp_seconds)"
	p.within("the age of the backup is known", func() bool { return p.up() == 2 && p.finds(age) == 1 })
	p.shows(backups)
	p.firesOnly()
	text, err := os.ReadFile(file)
	must(t, err)
	value := regexp.MustCompile(`(?m)^(turnlog_backup_last_success_timestamp_seconds\{.*\}) .*$`)
	old := fmt.Sprintf("$1 %d", time.Now().Add(-37*time.Hour).Unix())
	must(t, os.WriteFile(file, value.ReplaceAll(text, []byte(old)), 0o600))
	p.firesOnly("TurnlogBackupOld")
}

// A certificate about to expire, a level that is held, another version, and more clients than there is room for.
func TestNeglect(t *testing.T) {
	require(t, "prometheus")
	dir := t.TempDir()
	must(t, certs.Issue(certs.Request{Dir: dir, Name: "ca", Kind: certs.Authority, From: time.Now(), For: time.Hour}))
	must(t, certs.Issue(certs.Request{Dir: dir, Name: "n1", Kind: certs.Node, Hosts: []string{"127.0.0.1"}, CA: "ca",
		From: time.Now(), For: time.Hour}))
	secured := func(n *testcluster.Node) {
		n.Within = []string{"prlimit", "--nofile=256"}
		n.Operator.TLS = &tls.Config{InsecureSkipVerify: true} // its own, made above
		n.Args = append(n.Args, "--hold-level", "1", "--tls-cert", filepath.Join(dir, "n1.crt"),
			"--tls-key", filepath.Join(dir, "n1.key"))
	}
	c := start(t, 1, secured)
	other := filepath.Join(dir, "turnlog")
	build(t, other, "v0.0.0-other")
	t.Setenv("TURNLOG_BINARY", other)
	d := start(t, 1, secured)
	p := startPrometheus(t, "https", append(addrs(c), addrs(d)...)...)
	p.within("both are scraped", func() bool { return p.up() == 2 })
	p.shows(certificates)
	p.firesOnly("TurnlogCertificateExpires", "TurnlogLevelHeld", "TurnlogVersionsDiffer")
	p.within("connections are rejected", func() bool {
		for range 300 {
			conn, err := net.Dial("tcp", c.Nodes[0].RESPAddr)
			if err != nil {
				break
			}
			t.Cleanup(func() { conn.Close() })
		}
		names, err := p.firing()
		return err == nil && slices.Contains(names, "TurnlogConnectionsRejected")
	})
}

// What cannot be brought about within a minute is held to made-up series, and the format of the metrics
// to Prometheus's own checks.
func TestRules(t *testing.T) {
	promtool := require(t, "promtool")
	run := func(in []byte, args ...string) {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		cmd.Stdin = bytes.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("FAILED")) {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
	run(nil, "check", "rules", "--lint-fatal", filepath.Join(deploy, "turnlog.rules.yml"))
	run(nil, "test", "rules", "testdata/rules_test.yml")
	c := start(t, 1, nil)
	res, err := http.Get("http://" + c.Nodes[0].HTTPAddr + "/metrics")
	must(t, err)
	defer res.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(res.Body)
	must(t, err)
	run(text.Bytes(), "check", "metrics")
}
