package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/cluster-test/workload"
)

// Scenario is what a run does: which workloads, against which faults, for how
// long.
type Scenario struct {
	Name  string
	About string

	Workloads []string
	Special   *workload.Workload // in place of Workloads
	Nemesis   []string
	Time      time.Duration
	Nodes     int
	Workers   int
	// Rate is how many calls a second all workers together try to make (-1: as
	// many as they can), MinRate how many writes a second have to be acknowledged: an idle run must not pass.
	Rate, MinRate int
	// Flags go to turnlog serve.
	Flags []string
	// Disks: nodes get disks that can fail. Clocks: and clocks that can go wrong.
	Disks, Clocks bool
	// Secure: clients and nodes need certificates, and clients are users (secure.go).
	Secure bool
	// Namespaces: each node has a network namespace (separate.go).
	Namespaces bool
	// Spares: so many nodes are no members at first.
	Spares int
	// Upgrade: the nodes begin with an older version of turnlog.
	Upgrade bool
	// Mixed: some of them keep it (mixed.go).
	Mixed bool
	// Drive, if set, takes the place of the random faults; the work ends when
	// it returns.
	Drive func(ctx context.Context, r *run) error
	// Alone, if set, takes the place of workloads and faults.
	Alone func(ctx context.Context, r *run) error
	// Parallel, if set, runs while faults happen, until its ctx ends; After when all nodes have stopped.
	Parallel, After func(ctx context.Context, r *run) error
	// Must lists what has to be counted at least once. A run that is shorter
	// than the scenario's own time is excused.
	Must []string
}

// smallLog makes logs so short that nodes which were away need snapshots.
var smallLog = []string{"--log-compact-bytes", "1MiB", "--log-tail-bytes", "256KiB"}

var everything = []string{"append", "pipeline", "cas", "turns", "tail", "mixed", "tail-trim", "queue", "values",
	"forks", "renames", "edits", "labels", "sets", "ttl", "namespaces", "tx", "whole", "moves", "stale", "ranges"}

// scenarios returns the table of all scenarios.
func scenarios() []Scenario {
	list := []Scenario{
		{Name: "calm", About: "no faults at all", Workloads: everything, Time: 20 * time.Second, MinRate: 200},
		{Name: "smoke", About: "a little of everything, in half a minute", Workloads: everything,
			Nemesis: []string{"kill-leader", "partition-leader", "pause-leader", "lost-replies"},
			Time:    25 * time.Second},
		{Name: "leader-kill", About: "the leader dies again and again", Workloads: everything,
			Nemesis: []string{"kill-leader"}, Must: []string{"leader changes", "unknown"}},
		{Name: "kills", About: "processes die, alone and together, also while they start",
			Workloads: append([]string{"large"}, everything...),
			Nemesis:   []string{"kill-leader", "kill-follower", "kill-random", "kill-all", "crash-loop"},
			Must:      []string{"leader changes", "unknown"}},
		{Name: "pauses", About: "processes freeze and go on", Workloads: everything,
			Nemesis: []string{"pause-leader", "pause-follower"}, Must: []string{"leader changes"}},
		{Name: "partitions", About: "networks split, in all ways", Workloads: everything,
			Nemesis: []string{"partition-leader", "partition-halves", "bridge", "ring"},
			Must:    []string{"leader changes"}},
		{Name: "one-way", About: "networks that work in one direction, or now and then", Workloads: everything,
			Nemesis: []string{"one-way", "flapping", "half-open", "late-acks"}, Must: []string{"leader changes"}},
		{Name: "tails", About: "subscribers, of sessions that grow, shrink and begin again, while nodes die, freeze " +
			"and are cut off",
			Workloads: []string{"tail", "tail-trim", "tail-delete"}, Rate: 600, Must: []string{"leader changes"},
			Nemesis: []string{"kill-leader", "kill-follower", "pause-leader", "pause-follower", "partition-leader",
				"partition-halves", "one-way", "rolling-restart"}},
		{Name: "window", About: "nodes die while appends are repeated, inside and beyond the 1,024 messages whose " +
			"ids are remembered", Workloads: []string{"window"},
			Workers: 10, Rate: 120, Flags: smallLog, Must: []string{"leader changes", "duplicates", "forgotten ids"},
			Nemesis: []string{"kill-leader", "kill-follower", "kill-all", "stop-leader", "transfer", "snapshot",
				"long-absence"}},
		{Name: "publish", About: "messages are published while nodes die, freeze and are cut off",
			Workloads: []string{"publish", "append"}, Rate: 1000,
			Nemesis: []string{"kill-leader", "kill-follower", "pause-leader", "pause-follower", "partition-leader",
				"partition-halves", "flapping", "half-open"},
			Must: []string{"leader changes", "heard"}},
		{Name: "publish-calm", About: "messages are published, and nothing goes wrong: every subscriber receives each",
			Workloads: []string{"publish", "append"},
			Time:      20 * time.Second, Rate: 1000, Must: []string{"heard"}},
		{Name: "slow", About: "links that are slow or lose packets", Workloads: everything,
			Nemesis: []string{"slow-link", "lossy"}},
		{Name: "late-acks", About: "a deposed leader hears old acknowledgements: do its reads stay linearizable?",
			Workloads: []string{"append", "cas", "turns"}, Nemesis: []string{"late-acks"},
			Must: []string{"leader changes"}},
		{Name: "restarts", About: "an operator restarts nodes", Workloads: everything,
			Nemesis: []string{"rolling-restart", "stop-leader", "transfer", "snapshot"},
			Must:    []string{"leader changes"}},
		{Name: "transactions", About: "transactions over several keys, of all kinds, while nodes die, freeze, are " +
			"cut off and catch up by snapshot",
			Workloads: []string{"moves", "whole", "tx"}, Rate: 900, MinRate: 10, Flags: smallLog,
			Must: []string{"leader changes", "unknown", "conflicts"},
			Nemesis: []string{"kill-leader", "kill-follower", "kill-all", "pause-leader", "partition-leader",
				"lost-replies", "late-requests", "transfer", "long-absence"}},
		{Name: "lost-replies", About: "answers get lost and clients try again",
			Workloads: []string{"append", "cas", "turns", "mixed", "moves"},
			Nemesis:   []string{"lost-replies", "late-requests", "kill-leader"},
			Must:      []string{"duplicates", "unknown", "conflicts"}},
		{Name: "scarce", About: "nodes get too little of the processor, of descriptors, of memory",
			Workloads: everything,
			Nemesis:   []string{"starved", "few-descriptors", "killed-for-memory"}, Must: []string{"unknown"}},
		{Name: "wiped", About: "a node comes back without its data", Workloads: []string{"append", "cas"},
			Nemesis: []string{"wiped", "kill-leader"}},
		{Name: "membership", About: "nodes are replaced while leaders change",
			Workloads: []string{"append", "cas", "mixed", "tail"},
			Nemesis:   []string{"replaced", "leader-removed", "grown", "demoted", "transfer", "kill-leader"}, Spares: 2,
			Flags: smallLog, Must: []string{"leader changes"}},
		{Name: "snapshots", About: "nodes that were away for long catch up by snapshot",
			Workloads: []string{"append", "turns", "large", "mixed", "moves", "ttl"},
			Nemesis:   []string{"long-absence", "kill-leader", "lost-replies"}, Flags: smallLog,
			Must: []string{"snapshot installs", "duplicates"}},
		{Name: "disks", About: "disks lose power, fail, fill up and get slow", Workloads: everything, Disks: true,
			Nemesis: []string{"power-cut", "power-cut-all", "slow-sync", "hung-disk", "disk-low", "disks-low",
				"disk-full", "sync-error", "write-error", "read-error", "lying-disk", "bit-error", "short-read",
				"kill-leader"},
			Flags: smallLog, Time: 2 * time.Minute, Must: []string{"leader changes", "unknown", "read-only"}},
		{Name: "power", About: "machines lose power, one or all, again and again", Workloads: everything, Disks: true,
			Nemesis: []string{"power-cut", "power-cut-all"}, Flags: smallLog,
			Must: []string{"leader changes", "unknown", "torn tails"}},
		{Name: "rot", About: "200 times, a bit, a sector, the end or the whole of any file of a node is damaged, " +
			"while the node is stopped or running",
			Alone: damageAtRandom, Time: 12 * time.Minute, Flags: rotFlags},
		{Name: "damage", About: "files are damaged while a node is down",
			Workloads: []string{"append", "cas", "mixed", "tail"},
			Nemesis:   damages(), Flags: smallLog, Must: []string{"damage noticed"}},
		{Name: "clocks", About: "clocks are wrong, jump and drift",
			Workloads: []string{"append", "cas", "tail", "ttl-long", "stale"}, Clocks: true,
			Nemesis: []string{"clock-offset", "clock-jump", "two-clocks", "clock-drift", "transfer"},
			Must:    []string{"leader changes", "expired"}},
		{Name: "drill", About: "backups are taken amid faults, all nodes are lost, and a new cluster begins with one " +
			"of them",
			Workloads: []string{"append", "cas", "turns", "namespaces"}, Flags: smallLog, Parallel: backUp,
			After: restoreBackup, Time: 40 * time.Second, Must: []string{"leader changes"},
			Nemesis: []string{"kill-leader", "kill-follower", "pause-leader", "partition-leader", "lost-replies",
				"transfer", "snapshot"}},
		{Name: "upgrade", About: "nodes of an older version are upgraded one by one, and work together meanwhile",
			Workloads: []string{"append", "cas", "turns", "tail", "mixed", "ttl", "namespaces"},
			Upgrade:   true, Drive: upgrade, Must: []string{"leader changes"}},
		{Name: "cycles", About: "fifty rounds of broken connections in a minute (--time 20m: a thousand): nothing " +
			"may grow", Workloads: []string{"append", "cas", "tail"},
			Drive: cycles},
		{Name: "boltdb", About: "everything at once, with the other engine under the log", Workloads: everything,
			Nemesis: allFaults(),
			Flags:   append([]string{"--log-engine", "boltdb"}, smallLog...), Must: []string{"leader changes"}},
		{Name: "five-nodes", About: "everything at once, on five nodes", Workloads: everything, Nodes: 5,
			Nemesis: allFaults(), Flags: smallLog},
		{Name: "chaos-disks", About: "everything at once, with disks that fail as well", Workloads: everything,
			Disks: true, Nemesis: allFaults(), Flags: smallLog},
		{Name: "chaos", About: "everything at once", Workloads: everything, Spares: 2, Nemesis: allFaults(),
			Flags: smallLog,
			Must:  []string{"leader changes", "unknown", "duplicates", "conflicts"}},
	}
	list = append(list, evidence()...)
	for i := range list {
		list[i].setDefaults()
	}
	return list
}

func (s *Scenario) setDefaults() {
	s.Time = cmp.Or(s.Time, time.Minute)
	s.Nodes = cmp.Or(s.Nodes, 3)
	s.Workers = cmp.Or(s.Workers, 24)
	s.Rate = cmp.Or(s.Rate, 1500)
	s.MinRate = cmp.Or(s.MinRate, 20)
}

// equip gives the nodes what the scenario's faults need.
func (s *Scenario) equip() {
	list, _ := nemesis.ByName(s.Nemesis) // check tells
	for _, f := range list {
		s.Disks, s.Clocks, s.Secure = s.Disks || f.Disks, s.Clocks || f.Clocks, s.Secure || f.Secure
		s.Spares = max(s.Spares, f.Spares)
	}
}

// check reports the first name that means nothing.
func (s *Scenario) check() error {
	for _, name := range s.Workloads {
		if workload.ByName(name) == nil {
			return fmt.Errorf("there is no workload %q; --list shows them", name)
		}
	}
	_, err := nemesis.ByName(s.Nemesis)
	return err
}

// matrixTime is how long the scenarios of the matrix work that have no end of
// their own.
const matrixTime = 100 * time.Second

// ciRun is how long a scenario works that every change goes through, and what has to
// take place in that time: without it the run shows nothing.
type ciRun struct {
	time time.Duration
	must []string
}

func ciRuns() map[string]ciRun {
	return map[string]ciRun{
		"smoke":     {25 * time.Second, []string{"leader changes"}},
		"chaos":     {50 * time.Second, []string{"leader changes", "unknown"}},
		"disks":     {40 * time.Second, []string{"leader changes"}},
		"damage":    {25 * time.Second, []string{"damage noticed"}},
		"snapshots": {30 * time.Second, []string{"snapshot installs"}},
		"upgrade":   {time.Minute, []string{"leader changes"}},
		"drill":     {15 * time.Second, nil}, // without a backup it fails by itself
	}
}

// groups are names for several scenarios.
var groups = []string{"all", "evidence", "matrix", "ci"}

// named returns the scenarios of that name, or of each of several, or of a group.
func named(names string) ([]Scenario, error) {
	var chosen []Scenario
	for _, s := range scenarios() {
		isEvidence := strings.HasPrefix(s.Name, evidencePrefix)
		ci, everyTime := ciRuns()[s.Name]
		switch {
		case names == "all" && !isEvidence, names == "evidence" && isEvidence:
		case names == "matrix":
			s.Time = max(s.Time, matrixTime)
		case names == "ci" && everyTime:
			s.Time, s.Must = ci.time, ci.must
		case slices.Contains(strings.Split(names, ","), s.Name):
		default:
			continue
		}
		chosen = append(chosen, s)
	}
	for name := range strings.SplitSeq(names, ",") {
		if _, ok := scenario(name); !ok && !slices.Contains(groups, names) {
			return nil, fmt.Errorf("there is no scenario %q; --list shows them", name)
		}
	}
	return chosen, nil
}

// impossible tells why the scenario cannot run here, nil if it can.
func (s *Scenario) impossible(dir string) error {
	if !s.Disks {
		return nil
	}
	probe := filepath.Join(dir, "probe")
	d, err := disk.Mount(filepath.Join(probe, "mount"), filepath.Join(probe, "disk"))
	if err != nil {
		return err
	}
	return d.Unmount()
}

func scenario(name string) (Scenario, bool) {
	list := scenarios()
	i := slices.IndexFunc(list, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return list[i], true
}
