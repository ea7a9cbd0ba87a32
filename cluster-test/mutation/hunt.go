package mutation

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

	"github.com/turnlog/turnlog/cluster-test/report"
)

// Hunts are what is hunted, and how.
type Hunts struct {
	Families []Family
	Names    string // as --mutants takes them
	Repeat   int    // how often each is hunted, with different seeds
	Seed     uint64
	Record   bool   // write the figures into the table
	Ports    string // of the clusters, as --ports takes them; empty: any
	// Old is the commit of the older version, OldBinary one in place of that commit's.
	Old, OldBinary string
}

// Run hunts the mutants and reports whether all were caught each time.
func (o *Hunts) Run(ctx context.Context) (bool, error) {
	chosen, err := Choose(AllOf(o.Families), o.Names, o.Seed)
	if err != nil {
		return false, err
	}
	read, err := ReadCode(ctx)
	if err != nil {
		return false, err
	}
	fmt.Printf("====  mutants: go run ./cluster-test --mutants %s --repeat %d --seed %d\n", o.Names, o.Repeat, o.Seed)
	all := true
	var table []string
	for _, p := range chosen {
		fmt.Printf("====  %s: %s\n", p.Name, p.About)
		h := &hunt{Hunts: o, Target: p, code: read}
		if err := h.run(ctx); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			fmt.Printf("      the hunt failed: %v\n", err)
		}
		all = all && h.passed()
		row := fmt.Sprintf("| %s | `%s` | %s |", h.Name, h.By, h.figures(time.Now()))
		table = append(table, row)
		fmt.Println(row)
		if o.Record && !h.control() && len(h.hunts) == o.Repeat {
			if err := h.record(time.Now()); err != nil {
				return false, err
			}
		}
	}
	fmt.Printf("====  mutant, caught by, times, most runs, median time\n%s\n", strings.Join(table, "\n"))
	return all, ctx.Err()
}

// hunt is the hunt for a mutant by one catcher.
type hunt struct {
	*Hunts
	Target
	code    *Code
	dir     string
	goflags string // with which Go programs are built that are broken
	binary  string // of the catcher: the harness, or a test
	hunts   []hunted
}

type hunted struct {
	runs   int // 0: it survived
	took   time.Duration
	detail string
}

func (h *hunt) run(ctx context.Context) (err error) {
	if h.dir, err = os.MkdirTemp("", "turnlog-mutant-"); err != nil {
		return err
	}
	defer os.RemoveAll(h.dir)
	if err := h.build(ctx); err != nil {
		return err
	}
	for i := range h.Repeat {
		one, err := h.once(ctx, h.Seed+1000*uint64(i))
		if err != nil {
			return err
		}
		h.hunts = append(h.hunts, one)
		if one.runs == 0 {
			fmt.Println("     ", h.escape())
			continue
		}
		fmt.Printf("      caught in run %d of at most %d, after %v: %s\n", one.runs, h.By.Runs,
			one.took.Round(100*time.Millisecond), one.detail)
	}
	return nil
}

// build compiles the mutant and what has to catch it. The harness is made of
// changed sources, too: the Go client is part of it.
func (h *hunt) build(ctx context.Context) error {
	flags, err := h.Flags(h.code, h.dir)
	if err != nil {
		return err
	}
	h.goflags = "GOFLAGS=" + strings.Join(append(flags, "-buildvcs=false"), " ")
	h.binary = filepath.Join(h.dir, "catcher")
	builds := [][]string{{"build", "-o", h.binary, "./cluster-test"}, {"build", "-o", h.program(), "./cmd/turnlog"}}
	if h.By.Test != "" {
		t, err := h.code.test(h.By.Test)
		if err != nil {
			return err
		}
		builds = [][]string{{"test", "-c", "-o", h.binary, "./" + t.folder}}
	}
	for _, args := range builds {
		cmd := exec.CommandContext(ctx, "go", slices.Concat(args[:1], []string{"-buildvcs=false"}, flags, args[1:])...)
		cmd.Dir = h.code.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	return nil
}

func (h *hunt) program() string { return filepath.Join(h.dir, "turnlog") }

// once runs the catcher until it catches the mutant.
func (h *hunt) once(ctx context.Context, seed uint64) (hunted, error) {
	began := time.Now()
	for i := range h.By.Runs {
		attempt := h.scenario
		if h.By.Test != "" {
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

// testLimit is how long a test may take to notice something: longer than it waits in
// vain for an event.
const testLimit = 4 * time.Minute

// test runs the Go test. It returns what was found, if that shows the mutant.
func (h *hunt) test(ctx context.Context, seed uint64) (string, error) {
	t, err := h.code.test(h.By.Test)
	if err != nil {
		return "", err
	}
	args := []string{"-test.run", "^" + t.name + "$", "-test.timeout", testLimit.String()}
	if h.By.SeedFlag != "" {
		args = append(args, fmt.Sprintf("-%s=%d", h.By.SeedFlag, seed))
	}
	cmd := exec.CommandContext(ctx, h.binary, args...)
	cmd.Dir = filepath.Join(h.code.Root, t.folder)
	// tests of the program build it
	cmd.Env = append(os.Environ(), fmt.Sprintf("TURNLOG_SEED=%d", seed), "TURNLOG_SEEDS=1", h.goflags)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		return "", err
	}
	text := string(out)
	if !strings.Contains(text, "--- FAIL: "+t.name) {
		return "", fmt.Errorf("%s ended in another way than by failing: %w\n%s", h.By, err, out)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "_test.go:") && h.shows(line) {
			return brief(line), nil
		}
	}
	if len(h.By.Shows) == 0 {
		return brief(text), nil
	}
	h.elsewise(seed, text)
	return "", nil
}

// elsewise tells of a run that failed without a sign of the mutant.
func (h *hunt) elsewise(seed uint64, found string) {
	fmt.Printf("      seed %d failed without a sign of the mutant: %s\n", seed, brief(found))
}

// scenario runs the harness. It returns what was found, if that shows the mutant.
func (h *hunt) scenario(ctx context.Context, seed uint64) (string, error) {
	out := filepath.Join(h.dir, "runs")
	c := h.By
	args := []string{"--binary", h.program(), "--out", out, "--scenario", c.Scenario, "--seed", fmt.Sprint(seed),
		"--time", c.Time.String(), "--pictures=false"}
	for flag, value := range map[string]string{"--nemesis": c.Nemesis, "--workload": c.Workloads, "--ports": h.Ports} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if c.Mix {
		args = append(args, "--mix", "yes", "--old-commit", h.Old)
		if h.OldBinary != "" {
			args = append(args, "--old-binary", h.OldBinary)
		}
	}
	if c.Secure {
		args = append(args, "--secure", "yes")
	}
	if c.Rate != 0 {
		args = append(args, "--rate", fmt.Sprint(c.Rate))
	}
	defer os.RemoveAll(out)
	text, err := exec.CommandContext(ctx, h.binary, args...).CombinedOutput()
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
	h.elsewise(seed, strings.Join(found, "; "))
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

func (h *hunt) shows(finding string) bool {
	return len(h.By.Shows) == 0 ||
		slices.ContainsFunc(h.By.Shows, func(s string) bool { return strings.Contains(finding, s) })
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

// escape tells of a hunt that caught nothing.
func (h *hunt) escape() string {
	if h.control() {
		return fmt.Sprintf("%s finds nothing of the kind, as it should", h.By)
	}
	return fmt.Sprintf("SURVIVED %d runs of %s", h.By.Runs, h.By)
}

// passed reports whether each hunt ended as it should.
func (h *hunt) passed() bool {
	if h.control() {
		return len(h.hunts) == h.Repeat && h.caught() == 0
	}
	return h.caught() == h.Repeat
}
