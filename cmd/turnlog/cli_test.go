package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// TestOneNode goes through the operations, and stops and restarts the node in
// between.
func TestOneNode(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "--role", "user", "Where is <my> order?")
	n.ok("append", "alice", "one", "two", "--id", "a", "--id", "b")
	if out := n.ok("append", "alice", "one", "two", "--id", "a", "--id", "b"); !strings.Contains(out, "nothing added") {
		t.Errorf("a repetition says %q", out)
	}
	if got := n.ok("read", "alice", "--raw"); got != `{"role":"user","content":"Where is <my> order?"}`+"\none\ntwo\n" {
		t.Errorf("read %q", got)
	}
	if status := n.stop(syscall.SIGTERM); status != 0 {
		t.Fatalf("SIGTERM: status %d", status)
	}
	n.start(t)
	if got := n.ok("read", "alice", "--after", "1", "--raw", "--limit", "1"); got != "one\n" {
		t.Errorf("after the restart: %q", got)
	}
	n.ok("meta", "alice", "title=A = B", "draft=x")
	n.ok("meta", "alice", "--unset", "draft")
	if got := n.ok("meta", "alice", "--json"); got != `{"title":"A = B"}`+"\n" {
		t.Errorf("meta %q", got)
	}
	n.ok("fork", "alice", "bob", "--at", "2")
	if got := n.ok("pop", "bob"); !strings.HasSuffix(got, "  one\n") {
		t.Errorf("pop %q", got)
	}
	if got := n.field("removed", "trim", "alice", "--keep", "1"); got != "2" {
		t.Errorf("trimmed %s", got)
	}
	n.ok("expire", "alice", "1h", "--slide")
	if got := n.field("slide_ms", "info", "alice"); got != "3.6e+06" {
		t.Errorf("slide %s", got)
	}
	n.ok("expire", "alice", "--never")
	n.ok("clear", "alice")
	if got := n.field("last_seq", "info", "alice"); got != "3" {
		t.Errorf("last seq after clear: %s", got)
	}
	if got := n.ok("sessions", "--json"); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, `{"key":"alice"`) {
		t.Errorf("sessions %q", got)
	}
	if got := n.ok("-n", "other", "sessions", "--json"); got != "" {
		t.Errorf("sessions of another namespace: %q", got)
	}
	n.ok("rm", "--prefix", "", "--yes")
	n.fails(cli.ExitNotFound, "NOT_FOUND", "rm", "alice")
	if r := n.pipe("from standard input\n", "append", "carol"); r.status != 0 {
		t.Error(r)
	}
	if r := n.pipe("1\n\n2\r\n3", "append", "carol", "--lines"); r.status != 0 {
		t.Error(r)
	}
	if got := n.ok("read", "carol", "--raw"); got != "from standard input\n1\n2\n3\n" {
		t.Errorf("read %q", got)
	}
	if got := n.ok("cluster", "checksum"); !strings.HasPrefix(got, "1 of 1 nodes compared") {
		t.Errorf("checksum: %q", got)
	}
	if got := n.ok("wal", "verify", n.args[2]); !strings.HasPrefix(got, "sound: ") {
		t.Errorf("wal verify: %q", got)
	}
}

// TestStatuses: each kind of failure has its exit status and says what to do.
func TestStatuses(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir(), "--max-message-bytes", "1KiB", "--max-append-bytes", "2KiB")
	n.ok("append", "s", "x", "--id", "x")
	absent := shell{t, freePorts(t, 1)[0]}
	absent.fails(cli.ExitFailed, "turnlog dev", "read", "s", "--timeout", "300ms")
	absent.fails(cli.ExitFailed, "Nothing was changed", "append", "s", "y", "--timeout", "300ms")

	n.fails(cli.ExitCondition, "at revision 1", "append", "s", "y", "--expect", "0")
	n.fails(cli.ExitCondition, "ID_REUSED", "append", "s", "y", "--id", "x")
	n.fails(cli.ExitCondition, "EXISTS", "fork", "s", "s2", "--expect", "1", "--json", "--at", "1", "--addr",
		seedFork(n))
	for _, args := range [][]string{{"info", "absent"}, {"expire", "absent", "1h"}, {"fork", "absent", "new"},
		{"rm", "absent"}, {"cluster", "remove", "absent"}} {
		n.fails(cli.ExitNotFound, "NOT_FOUND", args...)
	}
	for _, args := range [][]string{{"read", "absent"}, {"pop", "absent"}, {"trim", "absent", "--keep", "1"},
		{"clear", "absent"}, {"meta", "absent"}, {"expire", "absent", "--never"}, {"export", "absent"}} {
		n.ok(args...)
	}
	n.ok("append", "ids", "a", "--id", "a")
	n.fails(cli.ExitCondition, "one by one", "append", "ids", "a", "b", "--id", "a", "--id", "b")
	n.fails(cli.ExitCondition, "read it again", "append", "ids", "b", "--expect", "0")
	n.fails(cli.ExitUsage, "TOO_LARGE", "append", "s", strings.Repeat("x", 1025))
	n.fails(cli.ExitUsage, "TOO_LARGE", "append", strings.Repeat("k", 513), "x")
	n.fails(cli.ExitUsage, "key is empty", "append", "", "x")
	for _, args := range [][]string{
		{"nonsense"}, {"append"}, {"read", "s", "--nonsense"}, {"read", "s", "--last", "x"},
		{"read", "s", "--last", "-1"},
		{"read", "s", "--last", "1", "--after", "1"}, {"read", "s", "--limit", "3"},
		{"read", "s", "--consistency", "often"},
		{"append", "s", "x", "--expect", "-1"}, {"append", "s", "x", "y", "--id", "one"},
		{"append", "s", "x", "--lines"},
		{"append", "s", "x", "--ttl", "-1s"}, {"trim", "s"}, {"trim", "s", "--keep", "1", "--before", "2"},
		{"pop", "s", "--count", "0"},
		{"pop", "s", "--from", "middle"}, {"rm"}, {"rm", "--prefix", "x"}, {"rm", "s", "--prefix", "x", "--yes"},
		{"meta", "s", "novalue"},
		{"expire", "s"}, {"expire", "s", "soon"}, {"expire", "s", "1h", "--never"}, {"cluster"},
		{"cluster", "nonsense"}, {"wal"},
		{"read", "s", "--addr", "nowhere"}, {"read", "s", "--namespace", "not allowed"},
		{"read", "s", "--timeout", "0s"},
		{"import", "no such file"}, {"dev", "--nodes", "2"}, {"dev", "extra"},
	} {
		n.fails(cli.ExitUsage, "turnlog: ", args...)
	}
	for says, args := range map[string][]string{
		`turnlog: --expect "foo": must be a revision`: {"append", "s", "x", "--expect", "foo"},
		`turnlog: --last "x": must be a number`:       {"read", "s", "--last", "x"},
		`turnlog: --after "-1": must be a number`:     {"read", "s", "--after", "-1"},
		`turnlog: --ttl "1": must be a duration`:      {"append", "s", "x", "--ttl", "1"},
		`turnlog: --last -1: must not be negative`:    {"read", "s", "--last", "-1"},
	} {
		n.fails(cli.ExitUsage, says, args...)
		if r := n.run(args...); strings.Contains(r.stderr, "strconv") {
			t.Errorf("%q: %s", args, r.stderr)
		}
	}
	if got := n.ok("read", "s", "--raw"); got != "x\n" {
		t.Errorf("the session has become %q", got)
	}
}

// seedFork makes the session that a fork collides with, and returns the address.
func seedFork(n *node) string {
	n.ok("append", "s2", "there")
	return n.addr
}

// TestServeRefuses: settings that cannot work, or are not safe, start nothing.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	c := shell{t, ""}
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "turnlog.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, bad := range []struct {
		says string
		args []string
	}{
		{"--insecure", []string{"--resp-addr", "0.0.0.0:0"}},
		{"--insecure", []string{"--http-addr", ":0"}},
		{"does not name this node", []string{"--initial-cluster", "n2=127.0.0.1:1,n3=127.0.0.1:2"}},
		{`line 2: unknown setting "nod-id"`, []string{"--config", file("node-id: n1\nnod-id: n2\n")}},
		{"no such file", []string{"--config", "/nowhere/turnlog.yaml"}},
		{"log-level", []string{"--config", file("log-level: loud\n")}},
		{"unknown flag", []string{"--data", "x"}},
		{"unknown command", []string{"extra"}},
	} {
		c.fails(cli.ExitUsage, bad.says, append([]string{"serve", "--data-dir", t.TempDir()}, bad.args...)...)
	}
	taken := startNode(t, t.TempDir())
	c.fails(cli.ExitFailed, "address already in use", "serve", "--data-dir", t.TempDir(), "--resp-addr", taken.addr)
	ports := freePorts(t, 3)
	c.fails(cli.ExitFailed, taken.args[2], "serve", "--data-dir", taken.args[2], "--resp-addr", ports[0], "--http-addr",
		ports[1], "--raft-addr", ports[2])
}

// TestSettingsFromEverywhere starts a node whose settings come from a file, the
// environment and the command line.
func TestSettingsFromEverywhere(t *testing.T) {
	t.Parallel()
	ports, dir := freePorts(t, 3), t.TempDir()
	file := filepath.Join(dir, "turnlog.yaml")
	text := fmt.Sprintf("node-id: from-file\ndata-dir: /nowhere\nresp-addr: %s\nhttp-addr: "+
		"127.0.0.1:1\nmax-message-bytes: 1KiB\n", ports[0])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, []string{"TURNLOG_CONFIG=" + file, "TURNLOG_HTTP_ADDR=" + ports[1],
		"TURNLOG_DATA_DIR=/nowhere"},
		"serve", "--data-dir", filepath.Join(dir, "data"), "--raft-addr", ports[2])
	p.until("ready", func() bool { return isReady(ports[1]) })
	c := shell{t, ports[0]}
	if got := c.field("leader", "cluster", "status"); got != "from-file" {
		t.Errorf("node id %s", got)
	}
	c.fails(cli.ExitUsage, "TOO_LARGE", "append", "s", strings.Repeat("x", 2000))
	if status := p.stop(syscall.SIGINT); status != 0 {
		t.Errorf("SIGINT: status %d", status)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	c := shell{t, ""}
	got := c.ok("version")
	if !strings.HasPrefix(got, "turnlog "+testVersion+" (") {
		t.Errorf("version %q", got)
	}
	if flag := c.ok("--version"); flag != got {
		t.Errorf("--version says %q, and version %q", flag, got)
	}
}
