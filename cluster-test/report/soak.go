package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/nemesis"
)

// Soak sums up the runs of a soak. Of each run it keeps a line, whatever the run recorded.
type Soak struct {
	seed    uint64
	lasts   time.Duration
	started time.Time

	runs    []soakRun
	leftOut map[string]error   // scenario → why it cannot run on this machine
	faults  map[string]int     // name → how often it was injected
	errors  map[string]int     // code → how many calls ended with it
	met     map[string]float64 // event → how often the runs met it
}

// soakRun is what is kept of a run.
type soakRun struct {
	scenario, command, commit, dir string
	seed                           uint64
	passed                         bool
	seconds                        float64
	operations                     int
	leaderChanges, faults          int
	findings                       []string
}

// NewSoak returns the report of a soak without runs, which is to last for so long.
func NewSoak(seed uint64, lasts time.Duration, now time.Time) *Soak {
	return &Soak{seed: seed, lasts: lasts, started: now, leftOut: map[string]error{}, faults: map[string]int{},
		errors: map[string]int{}, met: map[string]float64{}}
}

// LeaveOut notes that a scenario cannot run here.
func (s *Soak) LeaveOut(scenario string, why error) { s.leftOut[scenario] = why }

// AllLeftOut reports whether so many scenarios have been left out.
func (s *Soak) AllLeftOut(of int) bool { return len(s.leftOut) >= of }

// Add adds a run, whose directory is dir, and what it met.
func (s *Soak) Add(r *Report, dir string, met map[string]float64) {
	f := &r.Figures
	line := soakRun{scenario: r.Scenario, command: r.Command, commit: r.Commit, dir: dir, seed: r.Seed,
		passed: r.Passed, seconds: r.Seconds, operations: r.Checked.Operations, leaderChanges: f.LeaderChanges,
		faults: f.Faults, findings: r.findings()}
	s.runs = append(s.runs, line)
	for name, rec := range f.Recovery {
		s.faults[name] += rec.Times
	}
	for code, n := range f.Errors {
		s.errors[code] += n
	}
	for name, n := range met {
		s.met[name] += n
	}
}

// findings are why the run failed, the first ones.
func (r *Report) findings() []string {
	list := slices.Clone(r.Problems)
	for _, v := range slices.Concat(r.Checked.Violations, r.Checked.Undecided) {
		list = append(list, v.String())
	}
	return list[:min(len(list), shownFindings)]
}

// WriteFile writes the report in the place of an earlier one.
func (s *Soak) WriteFile(file string, now time.Time) error {
	var text strings.Builder
	s.Write(&text, now)
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// Write writes the report as Markdown.
func (s *Soak) Write(w io.Writer, now time.Time) {
	s.summary(w, now)
	s.failures(w)
	s.scenarios(w)
	counts(w, "fault", "times", s.faults)
	var never []string
	for _, f := range nemesis.All() {
		if s.faults[f.Name] == 0 {
			never = append(never, f.Name)
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(w, "\nNever injected: %s.\n", strings.Join(never, ", "))
	}
	counts(w, "calls that ended with", "times", s.errors)
	fmt.Fprintf(w, "\nMet: ")
	for i, name := range slices.Sorted(maps.Keys(s.met)) {
		if i > 0 {
			fmt.Fprint(w, "; ")
		}
		fmt.Fprintf(w, "%s %.0f", name, s.met[name])
	}
	fmt.Fprintln(w, ".")
}

func (s *Soak) summary(w io.Writer, now time.Time) {
	failed, operations, faults, seconds := 0, 0, 0, 0.0
	commit := "unknown"
	for _, r := range s.runs {
		if !r.passed {
			failed++
		}
		operations += r.operations
		faults += r.faults
		seconds += r.seconds
		commit = r.commit
	}
	fmt.Fprintf(w, "# Soak of %s\n\nCommit %s, seeds from %d. It began at %s and has taken %s of %s.\n\n"+
		"**%d runs, %d failed**; %d operations checked; %d faults injected; %s of work under faults.\n",
		s.started.Format("2006-01-02"), commit, s.seed, s.started.Format("15:04:05"),
		now.Sub(s.started).Round(time.Second), s.lasts, len(s.runs), failed, operations, faults,
		time.Duration(seconds*float64(time.Second)).Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(s.leftOut)) {
		fmt.Fprintf(w, "\nLeft out: %s: %v.\n", name, s.leftOut[name])
	}
}

func (s *Soak) failures(w io.Writer) {
	for _, r := range s.runs {
		if r.passed {
			continue
		}
		fmt.Fprintf(w, "\n## Failed: %s, seed %d\n\n`%s`, in `%s`:\n\n", r.scenario, r.seed, r.command, r.dir)
		for _, finding := range r.findings {
			fmt.Fprintf(w, "- %s\n", finding)
		}
	}
}

// scenarios has a row for each scenario that ran.
func (s *Soak) scenarios(w io.Writer) {
	by := map[string][]soakRun{}
	for _, r := range s.runs {
		by[r.scenario] = append(by[r.scenario], r)
	}
	fmt.Fprintf(w, "\n| scenario | runs | failed | operations | faults | leader changes | seeds |\n"+
		"|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(by)) {
		var seeds []string
		failed, operations, faults, changes := 0, 0, 0, 0
		for _, r := range by[name] {
			seeds = append(seeds, fmt.Sprint(r.seed))
			if !r.passed {
				failed++
			}
			operations, faults, changes = operations+r.operations, faults+r.faults, changes+r.leaderChanges
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %s |\n", name, len(by[name]), failed, operations, faults,
			changes, strings.Join(seeds, " "))
	}
}

// counts writes a table of what happened how often, the most frequent first.
func counts(w io.Writer, what, often string, n map[string]int) {
	fmt.Fprintf(w, "\n| %s | %s |\n|---|---|\n", what, often)
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		fmt.Fprintf(w, "| %s | %d |\n", name, n[name])
	}
}
