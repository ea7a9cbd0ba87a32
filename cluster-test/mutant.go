package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// A mutant is turnlog with one promise broken on purpose. A harness that does
// not catch it proves nothing. Mutants exist in builds made for the occasion
// only: the compiler is given changed copies of the files. They are mutants of
// the program under test, not of the Go client, which is part of this one.
type mutant struct {
	Name     string
	About    string
	File     string // of the source tree
	Old, New string // text that stands there once, and what takes its place
	Scenario string // that has to catch it
	Runs     int    // within so many runs
}

func mutants() []mutant {
	return []mutant{
		{"local-reads", "every node answers linearizable reads from its own state", "raftstore/query.go",
			"case turn.Stale:", "case turn.Stale, turn.Linearizable:", "calm", 3},
		{"unconfirmed-reads", "a leader answers reads without asking whether it still leads", "raftstore/reads.go",
			"if !r.confirm(ctx, term, changed) {", "if _ = changed; false {", "pauses", 20},
		{"ids-forgotten", "a message id that is known is not recognised", "fsm/append.go",
			"case known == 0:", "case known >= 0:", "lost-replies", 3},
		{"applied-twice", "a command that was sent again after a change of leader is carried out again", "fsm/apply.go",
			"c.Origin != 0 && !m.tags.take(", "m.tags == nil && !m.tags.take(", "leader-kill", 20},
		{"conditions-ignored", "an append is carried out whatever its condition", "fsm/session.go",
			"if *expect == current {", "if *expect == current || true {", "calm", 3},
		{"early-expiry", "sessions expire 200 ms before their time", "fsm/append.go",
			"m.meta.clock+o.TTL, h.slide)", "m.meta.clock+o.TTL-200, h.slide)", "calm", 3},
		{"own-clock", "each node's state machine has a clock of its own", "fsm/apply.go",
			"m.meta.clock = max(m.meta.clock, e.Stamp)", "m.meta.clock = max(m.meta.clock, e.Stamp) + int64(len(m.cfg.Dir)+int(m.cfg.Dir[len(m.cfg.Dir)-7])%3)", "calm", 3},
		{"wiped-let-in", "a node that lost its data is let in under its old name", "raftstore/admit.go",
			`known != "" && known != r.Incarnation`, `known == "never"`, "wiped", 5},
		{"stream-skips", "a stream of events leaves out each message after the last one of a page", "server/httpapi/stream.go",
			"st.after = m.Seq", "st.after = m.Seq + 1", "calm", 3},
	}
}

// build compiles the mutant.
func (m *mutant) build(ctx context.Context, dir string) (string, error) {
	changed, err := m.apply(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, m.Name+".go")
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return "", err
	}
	return cluster.Build(ctx, cluster.BuildOptions{Dir: dir, Replace: map[string]string{m.File: file}})
}

// apply returns the changed text of the mutant's file.
func (m *mutant) apply(ctx context.Context) (string, error) {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return "", fmt.Errorf("mutant %s: %q stands %d times in %s; the mutant has to follow the code", m.Name, m.Old, n, m.File)
	}
	return strings.Replace(string(text), m.Old, m.New, 1), nil
}

// hunt runs each mutant until it is caught and reports whether all were.
func (a *arguments) hunt(ctx context.Context, names string) (bool, error) {
	all := true
	for _, m := range mutants() {
		if names != "all" && !strings.Contains(","+names+",", ","+m.Name+",") {
			continue
		}
		caught, err := a.huntOne(ctx, &m)
		if err != nil {
			return false, err
		}
		all = all && caught
	}
	return all, ctx.Err()
}

func (a *arguments) huntOne(ctx context.Context, m *mutant) (bool, error) {
	dir, err := os.MkdirTemp("", "turnlog-mutant-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if a.binary, err = m.build(ctx, dir); err != nil {
		return false, err
	}
	fmt.Printf("====  mutant %s: %s\n", m.Name, m.About)
	s, ok := scenario(m.Scenario)
	if !ok {
		return false, fmt.Errorf("mutant %s: there is no scenario %q", m.Name, m.Scenario)
	}
	for i := range m.Runs {
		passed, err := a.one(ctx, s, a.seed+uint64(i))
		if err != nil {
			return false, err
		}
		if !passed {
			fmt.Printf("====  mutant %s caught in run %d of at most %d\n", m.Name, i+1, m.Runs)
			return true, nil
		}
	}
	fmt.Printf("====  mutant %s SURVIVED %d runs of %s\n", m.Name, m.Runs, m.Scenario)
	return false, nil
}
