package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/cluster-test/report"
)

// totals sums up the runs of one command.
type totals struct {
	runs, failed, operations int
	seen                     map[string]float64
}

// wanted is what all runs of the matrix together must have met.
var wanted = []string{"leader changes", "unknown", "duplicates", "conflicts", "expired", "read-only",
	"snapshot installs", "snapshots taken", "torn tails", "damage refused", "damage noticed", "no right", "heard",
	"forgotten ids"}

func (t *totals) add(r *report.Report) {
	t.runs++
	if !r.Passed {
		t.failed++
	}
	t.operations += r.Checked.Operations
	if t.seen == nil {
		t.seen = map[string]float64{}
	}
	for name, n := range met(r) {
		t.seen[name] += n
	}
}

// met counts what a run may have met, by the names of Scenario.Must.
func met(r *report.Report) map[string]float64 {
	all := maps.Clone(r.Figures.Sometimes)
	if all == nil {
		all = map[string]float64{}
	}
	c := &r.Counts
	for name, n := range map[string]int64{"leader changes": int64(r.Figures.LeaderChanges), "unknown": c.Unknown,
		"duplicates": c.Duplicates,
		"conflicts":  c.Conflicts, "read-only": c.ReadOnly, "expired": c.Expired, "no right": c.NoRight,
		"heard": c.Heard, "forgotten ids": c.Forgotten} {
		all[name] = float64(n)
	}
	return all
}

// print tells the totals and returns the names of what was never met.
func (t *totals) print() (missing []string) {
	fmt.Printf("====  %d runs, %d failed; %d operations checked\n     ", t.runs, t.failed, t.operations)
	for _, name := range slices.Sorted(maps.Keys(t.seen)) {
		fmt.Printf(" %s %.0f;", name, t.seen[name])
	}
	fmt.Println()
	for _, name := range wanted {
		if t.seen[name] == 0 {
			missing = append(missing, name)
		}
	}
	return missing
}
