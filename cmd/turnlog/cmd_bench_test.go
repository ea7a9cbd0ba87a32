package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/bench"
)

// The benchmark runs every workload on a node through all doors, without errors.
func TestBench(t *testing.T) {
	n := startNode(t, t.TempDir())
	list := "redis://" + n.addr + "/3"
	for _, targets := range [][]string{
		{"--target", "turnlog://" + n.addr + "/bench"},
		{"--target", "http://" + n.http + "/bench"},
		{"--target", list, "--compare", list, "--rounds", "2", "--goroutines"},
	} {
		var all []bench.Series
		args := append([]string{"bench", "append", "read", "chat", "mixed", "--clients", "3", "--sessions", "20", "--last", "3",
			"--duration", "100ms", "--warm-up", "0", "--json"}, targets...)
		if err := json.Unmarshal([]byte(n.ok(args...)), &all); err != nil {
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
	if table := n.ok("bench", "append", "--clients", "2", "--duration", "20ms", "--warm-up", "0"); !strings.Contains(table, "per second") {
		t.Errorf("table: %s", table)
	}
	n.fails(2, "there is no workload", "bench", "sing")
	n.fails(2, "--size must be at least", "bench", "append", "--size", "3")
	n.fails(1, "connection refused", "bench", "append", "--target", "redis://127.0.0.1:1")
}
