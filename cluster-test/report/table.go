package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Table writes the last run of each scenario among the runs in dir as Markdown:
// a table of scenarios, and one of how faults were taken, over all of them.
func Table(w io.Writer, dir string) error {
	runs, err := lastRuns(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| scenario | verdict | nodes | seconds | operations | sessions | writes/s | p99 | faults | "+
		"leader changes | unknown | duplicates | conflicts |\n")
	fmt.Fprintf(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	faults := map[string][]Recovery{}
	for _, r := range runs {
		verdict := "passed"
		if !r.Passed {
			verdict = "**failed**"
		}
		f := &r.Figures
		fmt.Fprintf(w, "| %s | %s | %d | %.0f | %d | %d | %.0f | %s | %d | %d | %d | %d | %d |\n", r.Scenario, verdict,
			r.Nodes, r.Seconds,
			r.Checked.Operations, r.Checked.Sessions, f.WritesPerSecond, ms(f.Write.P99), f.Faults, f.LeaderChanges,
			r.Counts.Unknown, r.Counts.Duplicates, r.Counts.Conflicts)
		for name, rec := range f.Recovery {
			faults[name] = append(faults[name], rec)
		}
	}
	fmt.Fprintf(w, "\n| fault | times | longest pause of writes | from its end to the first write: median, worst "+
		"|\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		var sum Recovery
		var medians []int64
		for _, rec := range faults[name] {
			sum.Times += rec.Times
			sum.PauseWorst = max(sum.PauseWorst, rec.PauseWorst)
			sum.HealWorst = max(sum.HealWorst, rec.HealWorst)
			medians = append(medians, rec.HealMedian)
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s, %s |\n", name, sum.Times, ms(sum.PauseWorst), ms(latency(medians).Median),
			ms(sum.HealWorst))
	}
	return nil
}

// lastRuns returns the last run of each scenario, by name of the scenario.
func lastRuns(dir string) ([]*Report, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "verdict.json"))
	if err != nil {
		return nil, err
	}
	last := map[string]*Report{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &Report{}
		if err := json.Unmarshal(data, r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if before := last[r.Scenario]; before == nil || before.Started.Before(r.Started) {
			last[r.Scenario] = r
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b *Report) int { return cmp.Compare(a.Scenario, b.Scenario) }),
		nil
}
