package bench

import (
	"context"
	"slices"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// Contestant is a target in a contest. Where it is, is asked before each run,
// since a cluster may have another leader by then.
type Contestant struct {
	Name   string
	Target func(ctx context.Context) (target.Target, error)
}

// Fixed is a contestant that stays where it is.
func Fixed(t target.Target) Contestant {
	return Contestant{t.Name, func(context.Context) (target.Target, error) { return t, nil }}
}

// Contest is one workload with one number of clients on several targets.
type Contest struct {
	Workload    Workload
	Config      Config
	Rounds      int
	Contestants []Contestant
	// Begin, if set, is told of each run before it begins.
	Begin func(c *Contest, round int, contestant string, live *generator.Live)
}

// Series is what a contest measured.
type Series struct {
	Workload string     `json:"workload"`
	Clients  int        `json:"clients"`
	Names    []string   `json:"names"`
	Results  [][]Result `json:"results"` // by contestant, by round
}

// Hold measures all contestants in each round, one after the other; who comes
// first, changes from round to round.
func (c *Contest) Hold(ctx context.Context) (*Series, error) {
	s := &Series{Workload: c.Workload.Name, Clients: c.Config.Clients, Results: make([][]Result, len(c.Contestants))}
	for _, who := range c.Contestants {
		s.Names = append(s.Names, who.Name)
	}
	for round := range c.Rounds {
		for i := range c.Contestants {
			i = (i + round) % len(c.Contestants)
			r, err := c.run(ctx, round, c.Contestants[i])
			if err != nil {
				return s, err
			}
			s.Results[i] = append(s.Results[i], r)
		}
	}
	return s, nil
}

func (c *Contest) run(ctx context.Context, round int, who Contestant) (Result, error) {
	live := new(generator.Live)
	if c.Begin != nil {
		c.Begin(c, round, who.Name, live)
	}
	t, err := who.Target(ctx)
	if err != nil {
		return Result{}, err
	}
	t.Name = who.Name
	cfg := c.Config
	cfg.Seed += uint64(round)
	return Run(ctx, t, c.Workload, cfg, live)
}

// Of returns the median of each figure over the rounds of a contestant; the
// errors are those of all rounds together.
func (s *Series) Of(name string) Result {
	rounds := s.rounds(name)
	if len(rounds) == 0 {
		return Result{}
	}
	r := rounds[0]
	r.PerSecond = medianOf(rounds, func(r *Result) float64 { return r.PerSecond })
	r.CPU = medianOf(rounds, func(r *Result) float64 { return r.CPU })
	r.Generator = medianOf(rounds, func(r *Result) float64 { return r.Generator })
	r.RSS = rounds[len(rounds)-1].RSS
	for _, q := range []func(*Result) *time.Duration{
		func(r *Result) *time.Duration { return &r.P50 }, func(r *Result) *time.Duration { return &r.P90 },
		func(r *Result) *time.Duration { return &r.P99 }, func(r *Result) *time.Duration { return &r.P999 },
		func(r *Result) *time.Duration { return &r.Max },
	} {
		*q(&r) = time.Duration(medianOf(rounds, func(r *Result) float64 { return float64(*q(r)) }))
	}
	for _, other := range rounds[1:] {
		r.Elapsed += other.Elapsed
		r.Operations += other.Operations
		r.Errors += other.Errors
		if r.Flushes != nil && other.Flushes != nil {
			n := *r.Flushes + *other.Flushes
			r.Flushes = &n
		}
		if r.FirstError == "" {
			r.FirstError = other.FirstError
		}
	}
	return r
}

// Ratio returns the median, over the rounds, of a's throughput to b's; 0 if one of
// them did not take part.
func (s *Series) Ratio(a, b string) float64 {
	x, y := s.rounds(a), s.rounds(b)
	var ratios []float64
	for i := range min(len(x), len(y)) {
		ratios = append(ratios, x[i].PerSecond/y[i].PerSecond)
	}
	return median(ratios)
}

func (s *Series) rounds(name string) []Result {
	if i := slices.Index(s.Names, name); i >= 0 {
		return s.Results[i]
	}
	return nil
}

func medianOf(rs []Result, figure func(*Result) float64) float64 {
	var all []float64
	for i := range rs {
		all = append(all, figure(&rs[i]))
	}
	return median(all)
}

// median returns the middle one, or the mean of the two in the middle; 0 of none.
func median(all []float64) float64 {
	n := len(all)
	if n == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}
