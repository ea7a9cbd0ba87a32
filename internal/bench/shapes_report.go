package bench

import "fmt"

func (f *ShapesFigures) verdicts() []Verdict {
	shapes := fmt.Sprintf("shapes: %s sessions of %d messages, to %s of %d: ", Thousands(float64(f.Wide.Sessions)),
		f.Wide.PerSession,
		Thousands(float64(f.Narrow.Sessions)), f.Narrow.PerSession)
	long, short := f.reads()
	return []Verdict{
		atMost(shapes+fmt.Sprintf("processor time per message ≤ %d ×", shapeGoal), shapeGoal,
			ratio(f.Wide.CPU, f.Narrow.CPU)),
		atLeast(shapes+fmt.Sprintf("throughput ≥ %d ×", shapeGoal), shapeGoal,
			ratio(f.Wide.PerSecond, f.Narrow.PerSecond)),
		atLeast(fmt.Sprintf("shapes: reads of the last %d of a session of %s messages ≥ %.4g × those of a "+
			"session of %d",
			fewMessages, Thousands(float64(f.Deep)), depthGoal, fewMessages), depthGoal,
			ratio(long.PerSecond, short.PerSecond)),
		atMost(fmt.Sprintf("shapes: p99 of appends while all sessions are listed ≤ %d × the p99 before", othersGoal),
			othersGoal, ratio(f.List.Others.P99, f.Calm.P99)),
		atMost(fmt.Sprintf("shapes: p99 of appends while all sessions are deleted ≤ %d × the p99 before", othersGoal),
			othersGoal, ratio(f.Erase.Others.P99, f.Calm.P99)),
	}
}

// reads returns the medians of the reads of the long session and the short one.
func (f *ShapesFigures) reads() (long, short Result) {
	s := Series{Names: []string{"long", "short"}, Results: make([][]Result, 2)}
	for _, r := range f.Depth {
		i := 0
		if r.Target == "short" {
			i = 1
		}
		s.Results[i] = append(s.Results[i], r)
	}
	return s.Of("long"), s.Of("short")
}

func (f *ShapesFigures) tables() []Table {
	costs := Table{Title: "shapes: the same number of messages, appended one by one, through the leader",
		Header: []string{"sessions", "messages in each", "per second", "p50", "p99", "processor"}}
	for _, s := range []Shape{f.Wide, f.Narrow} {
		costs.Rows = append(costs.Rows,
			[]string{Thousands(float64(s.Sessions)), Thousands(float64(s.PerSession)), Thousands(s.PerSecond),
				micros(s.P50), micros(s.P99), fmt.Sprintf("%.3f s", s.CPU)})
	}
	ends := Table{Title: fmt.Sprintf("shapes: reads of the last %d messages, one client", fewMessages),
		Header: []string{"messages in the session", "per second", "p50", "p99"}}
	long, short := f.reads()
	for _, r := range []struct {
		messages int
		Result
	}{{f.Deep, long}, {fewMessages, short}} {
		ends.Rows = append(ends.Rows,
			[]string{Thousands(float64(r.messages)), Thousands(r.PerSecond), micros(r.P50), micros(r.P99)})
	}
	list := f.List.Pages
	return []Table{costs, ends, {
		Title: fmt.Sprintf("shapes: all %s sessions are listed in %.1f s (pages of %s: p50 %s, p99 %s, longest %s), "+
			"and deleted in %.1f s",
			Thousands(float64(f.Wide.Sessions)), f.List.Elapsed.Seconds(), Thousands(listPage), micros(list.P50),
			micros(list.P99), micros(list.Max), f.Erase.Elapsed.Seconds()),
		Header: latencyHeader,
		Rows: [][]string{f.Calm.row("before"), f.List.Others.row("while they are listed"),
			f.Erase.Others.row("while they are deleted")},
	}}
}
