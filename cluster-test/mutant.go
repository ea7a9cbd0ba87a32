package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// A mutant is turnlog, or a library that it stands on, with one promise broken on
// purpose. Tests that do not catch it prove nothing. Mutants exist in builds made
// for the occasion only: the compiler is given changed copies of the files.
type mutant struct {
	Name     string
	About    string
	Edits    []edit
	Catchers []catcher // each has to catch it
}

// edit replaces a text that stands once in a package.
type edit struct {
	Package  string // folder in the source tree, or in Module
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
	Secure    bool // with users and certificates
	Mix       bool // with nodes of two versions, of which the older one is no mutant

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
	if c.Mix {
		s += ", two versions"
	}
	return s
}

// check reports an edit that does not fit the code any more, and a catcher that is
// not there.
func (m *mutant) check(ctx context.Context) error {
	if _, err := m.apply(ctx); err != nil {
		return err
	}
	for i := range m.Catchers {
		if err := m.Catchers[i].check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *catcher) check(ctx context.Context) error {
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

// flags writes the changed files into dir and returns what makes the compiler use
// them: an overlay for files of the source tree, and for a module, which cannot be
// overlaid, another go.mod with a changed copy of it.
func (m *mutant) flags(ctx context.Context, dir string) ([]string, error) {
	texts, err := m.apply(ctx)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	modules := map[string]map[string]string{} // module → path → text
	var flags []string
	for place, text := range texts {
		if place.module != "" {
			if modules[place.module] == nil {
				modules[place.module] = map[string]string{}
			}
			modules[place.module][place.path] = text
			continue
		}
		changed := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(place.path)))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return nil, err
		}
		replace[place.path] = changed
	}
	for module, texts := range modules { // of which a mutant changes one
		mod, err := changedModule(ctx, dir, module, texts)
		if err != nil {
			return nil, err
		}
		flags = append(flags, "-modfile="+mod)
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	return append(flags, "-overlay="+file), os.WriteFile(file, b, 0o644)
}

// changedModule copies a module with changed files, and returns a go.mod that
// uses it.
func changedModule(ctx context.Context, dir, module string, texts map[string]string) (string, error) {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	from, err := moduleDir(ctx, module)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "module")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", err
	}
	for path, text := range texts {
		name, err := filepath.Rel(from, path)
		if err != nil {
			return "", err
		}
		// The copy is as read-only as the module cache.
		changed := filepath.Join(to, name)
		if err := errors.Join(os.Remove(changed), os.WriteFile(changed, []byte(text), 0o644)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			b = fmt.Appendf(b, "\nreplace %s => %s\n", module, to)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "go.mod"), nil
}

// place is where an edit is made.
type place struct{ module, path string }

// apply returns the changed files.
func (m *mutant) apply(ctx context.Context) (map[place]string, error) {
	texts := map[place]string{}
	for _, e := range m.Edits {
		files, err := e.files(ctx)
		if err != nil {
			return nil, err
		}
		found := 0
		for _, path := range files {
			p := place{e.Module, path}
			text, ok := texts[p]
			if !ok {
				b, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				text = string(b)
			}
			if n := strings.Count(text, e.Old); n > 0 {
				found += n
				texts[p] = strings.Replace(text, e.Old, e.New, 1)
			}
		}
		if found != 1 {
			return nil, fmt.Errorf("%q stands %d times in %s; the mutant has to follow the code", e.Old, found, e.Package)
		}
	}
	return texts, nil
}

// files returns the source files of the edit's package.
func (e *edit) files(ctx context.Context) ([]string, error) {
	dir, err := cluster.ModuleRoot(ctx)
	if e.Module != "" {
		dir, err = moduleDir(ctx, e.Module)
	}
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, e.Package, "*.go"))
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }), err
}

func moduleDir(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
