package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/bench"
)

// bench runs a benchmark without warm-up, for so long, or for longer on a machine that is too busy to
// complete one operation of each workload in that time.
func (c shell) bench(duration time.Duration, args ...string) string {
	c.t.Helper()
	for {
		r := c.run(append([]string{"bench", "--warm-up", "0", "--duration", duration.String()}, args...)...)
		if r.status == 0 {
			return r.stdout
		}
		if !strings.Contains(r.stderr, "nothing succeeded within") || duration > time.Minute {
			c.t.Fatalf("bench %q for %s: status %d\n%s%s", args, duration, r.status, r.stdout, r.stderr)
		}
		duration *= 4
	}
}

// The benchmark runs every workload on a node through all APIs, without errors.
func TestBench(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	list := "redis://" + n.addr + "/3"
	for _, targets := range [][]string{
		{"--target", "turnlog://" + n.addr + "/bench"},
		{"--target", "http://" + n.http + "/bench"},
		{"--target", list, "--compare", list, "--rounds", "2", "--goroutines"},
	} {
		var all []bench.Series
		args := append([]string{"append", "read", "chat", "mixed", "--clients", "3", "--sessions", "20",
			"--last", "3", "--json"}, targets...)
		if err := json.Unmarshal([]byte(n.bench(100*time.Millisecond, args...)), &all); err != nil {
			t.Fatal(err)
		}
		if len(all) != 4 {
			t.Fatalf("%q: %d series", targets, len(all))
		}
		for _, s := range all {
			for _, name := range s.Names {
				if r := s.Of(name); r.Operations == 0 || r.Errors > 0 || r.P50 <= 0 || r.P99 < r.P50 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		}
	}
	if table := n.bench(500*time.Millisecond, "append", "--clients", "2"); !strings.Contains(table, "per second") {
		t.Errorf("table: %s", table)
	}
	if table := n.bench(500*time.Millisecond, "tail", "--clients", "2"); !strings.Contains(table, "tail") {
		t.Errorf("table: %s", table)
	}
	n.fails(1, "only targets of turnlog://", "bench", "tail", "--target", list)
	n.fails(2, "is a trial", "bench", "append", "growth")
	n.fails(2, "--messages must be", "bench", "growth", "--messages", "1")
	n.fails(2, "there is no workload", "bench", "sing")
	n.fails(2, "--size must be at least", "bench", "append", "--size", "3")
	n.fails(1, "connection refused", "bench", "append", "--target", "redis://127.0.0.1:1")
}

// Every trial runs, in small, and says something of each of its goals.
func TestBenchTrials(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	var r struct {
		Findings []struct {
			Trial   string
			Figures map[string]any
		}
		Verdicts []bench.Verdict
	}
	text := shell{t: t}.bench(time.Second, "growth", "shapes", "ttl", "--restart", "--messages", "300",
		"--sessions", "20", "--clients", "8", "--interval", "50ms", "--window", "300ms", "--json", "--write", page)
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(r.Findings) != 3 || len(r.Verdicts) != 13 {
		t.Fatalf("%d findings, %d verdicts: %s", len(r.Findings), len(r.Verdicts), text)
	}
	for _, v := range r.Verdicts {
		// In so short a run there may be no flush, and hardly an append of others.
		surely := strings.Contains(v.Goal, "memory") || strings.Contains(v.Goal, "disk") ||
			strings.Contains(v.Goal, "node is")
		if v.Measured <= 0 && surely {
			t.Errorf("%s: %v", v.Goal, v.Measured)
		}
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"## Goals", "## growth: sums", "## shapes: all 60 sessions are listed",
		"## ttl: 60 sessions expire within 300ms"} {
		if !strings.Contains(string(written), part) {
			t.Errorf("the page has no %q:\n%s", part, written)
		}
	}
}

// A node's profile is by component.
func TestBenchProfile(t *testing.T) {
	t.Parallel()
	l := freePorts(t, 1)[0]
	n := startNode(t, t.TempDir(), "--pprof-addr", l)
	out := n.bench(20*time.Millisecond, "append", "--clients", "8", "--pprof-addrs", l)
	for _, part := range []string{"per second", "append: processor time of the nodes by component", "wal ",
		"all, of one processor"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q:\n%s", part, out)
		}
	}
}
