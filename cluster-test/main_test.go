package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/mutants"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/cluster-test/workload"
)

// TestClusters is real clusters with real faults, for as long as a test may take. They wait most of the
// time, so they run beside each other.
func TestClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	binary, err := cluster.Build(t.Context(), cluster.BuildOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("smoke", func(t *testing.T) {
		t.Parallel()
		s, _ := scenario("smoke")
		s.Time, s.Rate, s.MinRate = 10*time.Second, 600, 20
		s.Workloads = []string{"append", "cas", "turns", "tail", "mixed", "namespaces", "stale"}
		passes(t, s, binary, "--time 10s --workload "+strings.Join(s.Workloads, ","))
	})
	t.Run("rot", func(t *testing.T) { // make rot is its long form
		t.Parallel()
		s, _ := scenario("rot")
		s.Time = 20 * time.Second
		passes(t, s, binary, "--time 20s")
	})
}

// passes runs a scenario, which the command with these arguments repeats.
func passes(t *testing.T, s Scenario, binary, arguments string) {
	t.Helper()
	command := fmt.Sprintf("go run ./cluster-test --scenario %s %s", s.Name, arguments)
	seed := uint64(time.Now().UnixNano() % 1e9)
	t.Logf("%s --seed %d", command, seed)
	r, dir, err := execute(t.Context(), s,
		options{seed: seed, binary: binary, out: t.ArtifactDir(), draw: true, say: t.Logf}, command)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.Print(&text)
	t.Logf("%s\n%s", dir, &text)
	if !r.Passed {
		t.Error("the scenario failed; run the tests with -artifacts to keep its directory")
	}
}

func TestTables(t *testing.T) {
	seen := map[string]bool{}
	unique := func(kind, name, about string) {
		if seen[kind+name] || name == "" || about == "" || strings.ContainsAny(name, " ,_") {
			t.Errorf("%s %q: not unique, or without a word about it, or with a name that no command line can take",
				kind, name)
		}
		seen[kind+name] = true
	}
	for _, s := range scenarios() {
		unique("scenario", s.Name, s.About)
		if err := s.check(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if s.Alone == nil && s.Special == nil && len(s.Workloads) == 0 {
			t.Errorf("%s does nothing", s.Name)
		}
	}
	for _, f := range nemesis.All() {
		unique("nemesis", f.Name, f.About)
	}
	for _, m := range mutants.All() {
		unique("mutant", m.Name, m.About)
		for _, by := range m.Catchers {
			a := arguments{scenarios: by.Scenario, nemesis: by.Nemesis, workloads: by.Workloads}
			if _, err := a.choose(); by.Test == "" && err != nil {
				t.Errorf("mutant %s: %v", m.Name, err)
			}
		}
	}
	for _, w := range workload.All() {
		unique("workload", w.Name, w.About)
	}
}

func TestCommandLine(t *testing.T) {
	for _, bad := range []arguments{{scenarios: "nonsense"}, {scenarios: "smoke", nemesis: "kill-leader,x"},
		{scenarios: "calm", workloads: "x"}} {
		if _, err := bad.choose(); err == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
	if _, err := (&arguments{scenarios: "smoke", network: "x"}).choose(); err == nil {
		t.Error("an unknown network was accepted")
	}
	a := arguments{scenarios: "smoke", nodes: 5, time: time.Minute, nemesis: "kill-all,one-way",
		workloads: "cas", rate: 7}
	chosen, err := a.choose()
	if err != nil || len(chosen) != 1 {
		t.Fatalf("%d scenarios, %v", len(chosen), err)
	}
	if s := chosen[0]; s.Nodes != 5 || s.Time != time.Minute || len(s.Nemesis) != 2 || s.Workloads[0] != "cas" ||
		s.Rate != 7 {
		t.Errorf("%+v", s)
	}
	// The command that a report shows leads to the same scenario.
	words := strings.Fields(strings.TrimPrefix(a.command(chosen[0], 9), "go run ./cluster-test "))
	var again arguments
	fs := flag.NewFlagSet("again", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	again.register(fs)
	if err := fs.Parse(words); err != nil {
		t.Fatal(err)
	}
	if again.seed != 9 || again.command(chosen[0], 9) != a.command(chosen[0], 9) {
		t.Errorf("%q becomes %+v", words, again)
	}
}
