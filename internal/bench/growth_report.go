package bench

import (
	"fmt"
	"slices"
	"strings"
)

func (g *GrowthFigures) verdicts() []Verdict {
	disk := make([]float64, len(g.Disk))
	for i, n := range g.Disk {
		disk[i] = ratio(n, g.Payload)
	}
	all := []Verdict{
		atLeast(fmt.Sprintf("growth to %s messages: throughput at the end ≥ %.4g × that at the beginning",
			Thousands(float64(g.Messages)), endGoal),
			endGoal, ratio(g.Last, g.First)),
		atMost(fmt.Sprintf("growth: p99 while a node flushes or takes a snapshot ≤ %d × the p99 without", flushGoal),
			flushGoal, ratio(g.BusyP99, g.OtherP99)),
		atMost(fmt.Sprintf("growth: resident memory of each node ≤ %d MiB", memoryGoal), memoryGoal,
			float64(slices.Max(g.RSS))/(1<<20)),
		atMost(fmt.Sprintf("growth: disk use of each node ≤ %.4g × payload", diskGoal), diskGoal, slices.Max(disk)),
	}
	if r := g.Restart; r != nil {
		all = append(all,
			atMost(fmt.Sprintf("restart: a killed node is ready again in ≤ %d s", restartGoal), restartGoal,
				r.Ready.Seconds()),
			atLeast(fmt.Sprintf("replacement: an empty node is filled at ≥ %d MB/s of payload", refillGoal), refillGoal,
				r.MBPerSecond),
			atMost(fmt.Sprintf("replacement: p99 of appends meanwhile ≤ %d × the p99 before", refillP99), refillP99,
				ratio(r.Filling.P99, r.Calm.P99)))
	}
	return all
}

func (g *GrowthFigures) tables() []Table {
	intervals := Table{
		Title: fmt.Sprintf("growth: %d clients append %s messages of %d bytes one by one, through the leader",
			g.Clients, Thousands(float64(g.Messages)), g.Size),
		Header: []string{"stored", "per second", "p50", "p99", "longest", "flushes", "snapshots",
			"memory of each node, MiB"},
	}
	for _, i := range g.Intervals {
		intervals.Rows = append(intervals.Rows,
			[]string{Thousands(float64(i.Stored)), Thousands(i.PerSecond), micros(i.P50), micros(i.P99),
				micros(i.Max), fmt.Sprint(i.Flushes), fmt.Sprint(i.Snapshots), mebibytes(i.RSS)})
	}
	sums := Table{Title: "growth: sums", Header: []string{"figure", "measured"}, Rows: [][]string{
		{"time", fmt.Sprintf("%.1f s, %s messages/s", g.Elapsed.Seconds(), Thousands(g.PerSecond))},
		{"first and last minute (or quarter)",
			fmt.Sprintf("%s and %s messages/s", Thousands(g.First), Thousands(g.Last))},
		{"flushes and snapshots, of all nodes",
			fmt.Sprintf("%d and %d, in %.0f %% of the time", g.Flushes, g.Snapshots, 100*g.Busy)},
		{"p99 meanwhile, and without", fmt.Sprintf("%s, %s", micros(g.BusyP99), micros(g.OtherP99))},
		{"payload, MiB", mebibytes([]uint64{g.Payload})},
		{"disk use of each node, MiB", mebibytes(g.Disk)},
		{"of that the log, MiB", mebibytes(g.Log)},
	}}
	if g.Restart == nil {
		return []Table{intervals, sums}
	}
	r := g.Restart
	sums.Rows = append(sums.Rows,
		[]string{"start of a killed node until it is ready", fmt.Sprintf("%.2f s", r.Ready.Seconds())},
		[]string{"an empty node is filled in",
			fmt.Sprintf("%.1f s, %.0f MB/s of payload", r.Fill.Seconds(), r.MBPerSecond)})
	return []Table{intervals, sums, {
		Title: "growth: appends of others, through the leader", Header: latencyHeader,
		Rows: [][]string{r.Calm.row("before"), r.Restarting.row("while a node restarts"),
			r.Filling.row("while a node is filled")},
	}}
}

// mebibytes lists amounts.
func mebibytes(all []uint64) string {
	var words []string
	for _, n := range all {
		words = append(words, Thousands(float64(n)/(1<<20)))
	}
	return strings.Join(words, " · ")
}
