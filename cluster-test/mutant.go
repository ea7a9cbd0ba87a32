package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// A mutant is turnlog, or a library that it stands on, with one promise broken on
// purpose. Tests that do not catch it prove nothing. Mutants exist in builds made
// for the occasion only: the compiler is given changed copies of the files.
type mutant struct {
	Name    string
	About   string
	Edits   []edit
	Catcher catcher
}

// edit replaces a text that stands once in a file.
type edit struct {
	File     string // of the source tree, or of Module
	Old, New string
	Module   string // a module that the source tree depends on; empty: none
}

// catcher is what has to catch a mutant within a number of runs: a scenario of
// this harness, or a Go test.
type catcher struct {
	Scenario  string
	Time      time.Duration
	Nemesis   string // in place of the scenario's; as on the command line
	Workloads string
	Rate      int

	Package, Test string
	SeedFlag      string // the test's flag for a seed; TURNLOG_SEED is set in any case

	// Shows are signs of which one must stand in what is found: a run that fails
	// since the machine is slow catches nothing. Empty: any failure of Test.
	Shows []string
	Runs  int
}

// String names the catcher as one would run it.
func (c *catcher) String() string {
	if c.Test != "" {
		return fmt.Sprintf("go test %s -run %s", c.Package, c.Test)
	}
	s := c.Scenario
	if c.Nemesis != "" {
		s += " with " + c.Nemesis
	}
	return s
}

// check reports an edit that does not fit the code any more, and a catcher that is
// not there.
func (m *mutant) check(ctx context.Context) error {
	if _, err := m.apply(ctx); err != nil {
		return err
	}
	c := &m.Catcher
	if c.Test == "" {
		a := arguments{scenarios: c.Scenario, nemesis: c.Nemesis, workloads: c.Workloads}
		_, err := a.choose()
		return err
	}
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, c.Package, "*_test.go"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "func "+c.Test+"(t *testing.T)") {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("there is no %s in %s", c.Test, c.Package))
}

// overlay writes the changed files into dir and returns the path of a file that
// tells the compiler of them.
func (m *mutant) overlay(ctx context.Context, dir string) (string, error) {
	texts, err := m.apply(ctx)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range texts {
		changed := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(name)))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[name] = changed
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, b, 0o644)
}

// apply returns the changed files by their paths.
func (m *mutant) apply(ctx context.Context) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		path, err := e.path(ctx)
		if err != nil {
			return nil, err
		}
		text, ok := texts[path]
		if !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("%q stands %d times in %s; the mutant has to follow the code", e.Old, n, e.File)
		}
		texts[path] = strings.Replace(text, e.Old, e.New, 1)
	}
	return texts, nil
}

func (e *edit) path(ctx context.Context) (string, error) {
	if e.Module == "" {
		root, err := cluster.ModuleRoot(ctx)
		return filepath.Join(root, e.File), err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", e.Module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", e.Module, err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), e.File), nil
}
