// Cluster-test tests the built turnlog binary from outside: with real processes, real sockets, and the
// faults that these can have. It records every call, and checks the record.
//
//	go run ./cluster-test --list
//	go run ./cluster-test --scenario chaos --time 2m --seed 7
//
// The exit status is 0 if every promise was kept, 1 if one was broken or the checker could not decide,
// and 2 if the harness itself failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/cluster-test/mutants"
	"github.com/turnlog/turnlog/cluster-test/mutation"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/cluster-test/report"
	"github.com/turnlog/turnlog/cluster-test/workload"
)

// arguments are the command line.
type arguments struct {
	list      bool
	table     bool
	scenarios string
	seed      uint64
	time      time.Duration
	nodes     int
	nemesis   string
	workloads string
	rate      int
	out       string
	binary    string
	race      bool
	keep      bool
	soaks     bool
	lasts     time.Duration // of a soak
	report    string
	repeat    int
	mutants   string
	record    bool
	pictures  bool
	ports     string
	network   string
	old       string
	oldBinary string
	mixing    string
	securing  string

	totals totals // of what has run
}

// oldCommit is what nodes are upgraded from, and mixed with, unless another version is
// named: the first one that writes version 1 of each format. Once there is a release, it is
// that (docs/decisions/0024-versions-of-formats.md).
const oldCommit = "8a16832"

func main() {
	var a arguments
	a.register(flag.CommandLine)
	flag.Parse()
	if a.list {
		list()
		return
	}
	if a.table {
		if err := report.Table(os.Stdout, a.out); err != nil {
			fmt.Fprintln(os.Stderr, "cluster-test:", err)
			os.Exit(2)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	passed, err := a.run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "cluster-test:", err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

func (a *arguments) register(fs *flag.FlagSet) {
	fs.BoolVar(&a.list, "list", false, "show scenarios, nemeses and workloads")
	fs.BoolVar(&a.table, "table", false, "show the last run of each scenario in --out as Markdown tables")
	fs.StringVar(&a.scenarios, "scenario", "smoke",
		"what to run; several, separated by commas; or all, evidence, matrix (both, about an hour), or ci (about "+
			"five minutes)")
	fs.Uint64Var(&a.seed, "seed", 0, "what the random choices follow from (default: another one each time)")
	fs.DurationVar(&a.time, "time", 0, "how long workers work (default: the scenario's)")
	fs.IntVar(&a.nodes, "nodes", 0, "size of the cluster (default: the scenario's)")
	fs.StringVar(&a.nemesis, "nemesis", "", "faults in place of the scenario's, separated by commas")
	fs.StringVar(&a.workloads, "workload", "", "workloads in place of the scenario's, separated by commas")
	fs.IntVar(&a.rate, "rate", 0, "calls a second that workers try to make (default: the scenario's)")
	fs.StringVar(&a.out, "out", filepath.Join(os.TempDir(), "turnlog-cluster-test"), "where each run gets a directory")
	fs.StringVar(&a.binary, "binary", "", "turnlog to test (default: built from this source tree)")
	fs.BoolVar(&a.race, "race", false, "build it with the race detector")
	fs.BoolVar(&a.keep, "keep", false, "keep the nodes' data also if the run passes")
	fs.StringVar(&a.mutants, "mutants", "",
		"instead, see that broken builds are caught: all, or names separated by commas; with tests or scenarios "+
			"among them, by these only; or ci: a few, in about a minute, by the seed; or control: nothing is broken, "+
			"and nothing may be caught")
	fs.BoolVar(&a.record, "record", false, "with --mutants: write the figures into cluster-test/"+mutation.Record)
	fs.StringVar(&a.network, "network", "",
		"what lies between nodes: proxy, or netns, which is network namespaces and needs root, or by-seed, which is "+
			"netns in a quarter of the runs that can (default: by-seed for all, evidence, matrix and ci, else proxy)")
	fs.StringVar(&a.ports, "ports", "", "take ports from this range, such as 24000-25999")
	fs.StringVar(&a.old, "old-commit", oldCommit, "the version that nodes are upgraded from")
	fs.StringVar(&a.mixing, "mix", "",
		"give some nodes the older version, where a scenario can have such: yes, no, or by-seed, which is half of "+
			"the runs (default: by-seed for all, evidence, matrix and ci, else no)")
	fs.StringVar(&a.securing, "secure", "",
		"let clients and nodes need certificates, and clients be users, where that can be: yes, no, or by-seed, "+
			"which is a third of the runs (default: by-seed for all, evidence, matrix and ci, else no)")
	fs.StringVar(&a.oldBinary, "old-binary", "", "a binary in place of that version's")
	fs.BoolVar(&a.pictures, "pictures", true, "draw the sessions in which something is wrong")
	fs.BoolVar(&a.soaks, "soak", false,
		"run again and again, each time with another seed, until something fails or Ctrl-C")
	fs.DurationVar(&a.lasts, "for", 0,
		"run again and again, each time with another seed, for so long, whatever fails; only failed runs are kept")
	fs.StringVar(&a.report, "report", "", "with --for: a file that tells, in Markdown, what all runs have shown")
	fs.IntVar(&a.repeat, "repeat", 1, "how often to run, each time with another seed")
}

// run runs the scenarios one after the other and reports whether all passed.
func (a *arguments) run(ctx context.Context) (bool, error) {
	chosen, err := a.choose()
	if err != nil {
		return false, err
	}
	if a.seed == 0 {
		a.seed = uint64(rand.Uint32())
	}
	if a.mutants != "" {
		h := mutation.Hunts{Families: mutants.Families(), Names: a.mutants, Repeat: a.repeat, Seed: a.seed,
			Record: a.record, Ports: a.ports, Old: a.old, OldBinary: a.oldBinary}
		return h.Run(ctx)
	}
	dir, err := os.MkdirTemp("", "turnlog-build-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	b := builds{dir: dir, given: a.binary, race: a.race, old: a.old, done: map[string]string{}}
	if a.lasts > 0 {
		return a.soak(ctx, chosen, &b)
	}
	for i := 0; i < a.repeat || a.soaks && a.totals.failed == 0; i++ {
		for _, s := range chosen {
			if problem := s.impossible(dir); problem != nil && len(chosen) > 1 {
				fmt.Printf("----  %s: LEFT OUT, because of this machine: %v\n", s.Name, problem)
				continue
			}
			if _, _, err := a.one(ctx, s, a.seed+uint64(i), &b); err != nil {
				return false, err
			}
		}
	}
	never := a.totals.print()
	if a.scenarios == "matrix" && len(never) > 0 {
		fmt.Printf("====  FAIL: never met: %s\n", strings.Join(never, ", "))
		return false, nil
	}
	return a.totals.failed == 0, ctx.Err()
}

// choose returns the scenarios asked for, changed as asked for.
func (a *arguments) choose() ([]Scenario, error) {
	if err := errors.Join(checkNetwork(a.network), choice("mix", a.mixing), choice("secure", a.securing)); err != nil {
		return nil, err
	}
	chosen, err := named(a.scenarios)
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		s := &chosen[i]
		if a.time > 0 {
			s.Time, s.Must = a.time, nil
		}
		if a.nodes > 0 {
			s.Nodes = a.nodes
		}
		if a.rate > 0 {
			s.Rate = a.rate
		}
		if a.nemesis != "" {
			s.Nemesis, s.Must = strings.Split(a.nemesis, ","), nil
			s.equip()
		}
		if a.workloads != "" {
			s.Workloads = strings.Split(a.workloads, ",")
		}
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func list() {
	fmt.Println("Scenarios:")
	for _, s := range scenarios() {
		fmt.Printf("  %-22s %s\n", s.Name, s.About)
	}
	fmt.Println("\nNemeses:")
	for _, f := range nemesis.All() {
		fmt.Printf("  %-22s %s\n", f.Name, f.About)
	}
	fmt.Println("\nMutants:")
	for _, m := range mutants.All() {
		fmt.Printf("  %-22s %s\n", m.Name, m.About)
	}
	fmt.Println("\nWorkloads:")
	for _, w := range workload.All() {
		fmt.Printf("  %-22s %s\n", w.Name, w.About)
	}
}
