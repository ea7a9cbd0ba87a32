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
	"github.com/turnlog/turnlog/cluster-test/report"
)

// hunt hunts each mutant of that name, --repeat times with different seeds, and
// reports whether all were caught each time.
func (a *arguments) hunt(ctx context.Context, names string) (bool, error) {
	all := true
	table := []string{"| mutant | has to be caught by | caught | runs needed, at most | median time |", "|---|---|---|---|---|"}
	for _, m := range mutants() {
		if names != "all" && !strings.Contains(","+names+",", ","+m.Name+",") {
			continue
		}
		h := &huntOne{arguments: a, mutant: &m}
		if err := h.run(ctx); err != nil {
			return false, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		all = all && h.caught() == len(h.hunts)
		table = append(table, h.row())
	}
	fmt.Println(strings.Join(table, "\n"))
	return all, ctx.Err()
}

// huntOne is the hunt for one mutant.
type huntOne struct {
	*arguments
	*mutant
	dir     string
	catcher string // path of the harness's or the test's binary
	hunts   []hunted
}

type hunted struct {
	runs   int // 0: it survived
	took   time.Duration
	detail string
}

func (h *huntOne) run(ctx context.Context) (err error) {
	if h.dir, err = os.MkdirTemp("", "turnlog-mutant-"); err != nil {
		return err
	}
	defer os.RemoveAll(h.dir)
	fmt.Printf("====  %s: %s\n", h.Name, h.About)
	if err := h.build(ctx); err != nil {
		return err
	}
	for i := range h.repeat {
		one, err := h.once(ctx, h.seed+1000*uint64(i))
		if err != nil {
			return err
		}
		h.hunts = append(h.hunts, one)
		if one.runs == 0 {
			fmt.Printf("      SURVIVED %d runs of %s\n", h.Catcher.Runs, &h.Catcher)
			continue
		}
		fmt.Printf("      caught in run %d of at most %d, after %v: %s\n", one.runs, h.Catcher.Runs, one.took.Round(100*time.Millisecond), one.detail)
	}
	return nil
}

// build compiles the mutant and what has to catch it. The harness is made of
// changed sources, too: the Go client is part of it.
func (h *huntOne) build(ctx context.Context) error {
	overlay, err := h.overlay(ctx, h.dir)
	if err != nil {
		return err
	}
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return err
	}
	h.catcher = filepath.Join(h.dir, "catcher")
	builds := [][]string{{"build", "-o", h.catcher, "./cluster-test"}, {"build", "-o", h.program(), "./cmd/turnlog"}}
	if h.Catcher.Test != "" {
		builds = [][]string{{"test", "-c", "-o", h.catcher, h.Catcher.Package}}
	}
	for _, args := range builds {
		cmd := exec.CommandContext(ctx, "go", append([]string{args[0], "-buildvcs=false", "-overlay", overlay}, args[1:]...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	return nil
}

func (h *huntOne) program() string { return filepath.Join(h.dir, "turnlog") }

// once runs the catcher until it catches the mutant.
func (h *huntOne) once(ctx context.Context, seed uint64) (hunted, error) {
	began := time.Now()
	for i := range h.Catcher.Runs {
		attempt := h.scenario
		if h.Catcher.Test != "" {
			attempt = h.test
		}
		detail, err := attempt(ctx, seed+uint64(i))
		if err != nil {
			return hunted{}, err
		}
		if detail != "" {
			return hunted{i + 1, time.Since(began), detail}, nil
		}
	}
	return hunted{took: time.Since(began)}, nil
}

// testLimit is how long a test may take to notice something.
const testLimit = 2 * time.Minute

// test runs the Go test. It returns what was found, if that shows the mutant.
func (h *huntOne) test(ctx context.Context, seed uint64) (string, error) {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"-test.run", "^" + h.Catcher.Test + "$", "-test.timeout", testLimit.String()}
	if h.Catcher.SeedFlag != "" {
		args = append(args, fmt.Sprintf("-%s=%d", h.Catcher.SeedFlag, seed))
	}
	cmd := exec.CommandContext(ctx, h.catcher, args...)
	cmd.Dir = filepath.Join(root, h.Catcher.Package)
	cmd.Env = append(os.Environ(), fmt.Sprintf("TURNLOG_SEED=%d", seed))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		return "", err
	}
	text := string(out)
	if !strings.Contains(text, "--- FAIL: "+h.Catcher.Test) {
		return "", fmt.Errorf("%s ended in another way than by failing: %w\n%s", &h.Catcher, err, out)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "_test.go:") && h.shows(line) {
			return brief(line), nil
		}
	}
	return brief(text), nil
}

// scenario runs the harness. It returns what was found, if that shows the mutant.
func (h *huntOne) scenario(ctx context.Context, seed uint64) (string, error) {
	out := filepath.Join(h.dir, "runs")
	c := &h.Catcher
	args := []string{"--binary", h.program(), "--out", out, "--scenario", c.Scenario, "--seed", fmt.Sprint(seed), "--time", c.Time.String()}
	for flag, value := range map[string]string{"--nemesis": c.Nemesis, "--workload": c.Workloads, "--ports": h.ports} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if c.Rate != 0 {
		args = append(args, "--rate", fmt.Sprint(c.Rate))
	}
	defer os.RemoveAll(out)
	text, err := exec.CommandContext(ctx, h.catcher, args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	found, err := findings(out)
	if err != nil {
		return "", err
	}
	for _, f := range found {
		if h.shows(f) {
			return brief(f), nil
		}
	}
	fmt.Printf("      seed %d failed without a sign of the mutant: %s\n", seed, brief(strings.Join(found, "; ")))
	return "", nil
}

// findings returns everything that made the only run in a folder fail.
func findings(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "verdict.json"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%d verdicts in %s, %w", len(files), folder, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var r report.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	found := r.Problems
	for _, v := range r.Checked.Violations {
		found = append(found, v.String())
	}
	return found, nil
}

func (h *huntOne) shows(finding string) bool {
	return len(h.Catcher.Shows) == 0 || slices.ContainsFunc(h.Catcher.Shows, func(s string) bool { return strings.Contains(finding, s) })
}

// brief returns the beginning of a text, in one line.
func brief(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}

func (h *huntOne) caught() (n int) {
	for _, one := range h.hunts {
		if one.runs > 0 {
			n++
		}
	}
	return n
}

// row is the mutant's line in the table.
func (h *huntOne) row() string {
	runs, times := 0, make([]time.Duration, 0, len(h.hunts))
	for _, one := range h.hunts {
		runs = max(runs, one.runs)
		times = append(times, one.took)
	}
	slices.Sort(times)
	return fmt.Sprintf("| %s: %s | %s | %d of %d | %d of %d | %v |", h.Name, h.About, &h.Catcher,
		h.caught(), len(h.hunts), runs, h.Catcher.Runs, times[len(times)/2].Round(100*time.Millisecond))
}
