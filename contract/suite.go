package contract

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// Suite is a run of the contract. The zero value of every field but Target is its
// default.
type Suite struct {
	Target Target
	// Seed determines the messages and choices of all cases; 0: each case has its own seed.
	Seed uint64
	// Writers is the number of concurrent writers: 8.
	Writers int
	// Turns is the number of turns that each writer appends: 25.
	Turns int
	// Timeout bounds each case: 60 s.
	Timeout time.Duration
	// Gates and Cases select what is run; both empty: everything. A case is named
	// as gate/name or name, with * and ? as in file names.
	Gates []Gate
	Cases []string
	// Began and Ended, if set, are called for every case before and after it runs. total is the number
	// of cases.
	Began func(c *Case, number, total int)
	Ended func(r *Result, number, total int)
}

// Run tests a store against the contract. Each case is a subtest named gate/case. open returns a new
// handle; all handles use the same data.
func Run(t *testing.T, open func(ctx context.Context) (Store, error)) {
	t.Helper()
	s := Suite{Target: Target{Open: open}}
	s.Run(t)
}

// Run is Verify within a test.
func (s *Suite) Run(t *testing.T) {
	t.Helper()
	run, cases, err := s.prepare()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Gates {
		group := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return c.Gate != g })
		if len(group) == 0 {
			continue
		}
		t.Run(string(g), func(t *testing.T) { run.gate(t, group) })
	}
}

// gate makes each case a subtest. Those that merely wait are carried out last, all at
// once.
func (r *run) gate(t *testing.T, cases []Case) {
	waiting := map[string]chan Result{}
	for _, c := range cases {
		if c.waits {
			waiting[c.Name] = make(chan Result, 1)
			continue
		}
		t.Run(c.Name, func(t *testing.T) { report(t, r.one(t.Context(), c)) })
	}
	var group sync.WaitGroup
	defer group.Wait() // also for those whose subtests -run leaves out
	for _, c := range cases {
		if done := waiting[c.Name]; done != nil {
			group.Go(func() { done <- r.one(t.Context(), c) })
		}
	}
	for _, c := range cases {
		if done := waiting[c.Name]; done != nil {
			t.Run(c.Name, func(t *testing.T) { report(t, <-done) })
		}
	}
}

func report(t *testing.T, r Result) {
	t.Helper()
	switch c := &r.Case; r.Status {
	case Unsupported:
		t.Skipf("not supported: %s", r.Detail)
	case Failed, Undecided:
		t.Errorf("%s\n%s\nguards against %s, %s\nrepeat with seed %d", c.Proves, r.Detail, c.Incident,
			Incidents[c.Incident], c.Seed)
	}
}

// Verify runs the selected cases one after another. It returns an error if the selection is invalid, if
// the target cannot be opened at all, or if ctx ends; failures of the store are in the Report.
func (s *Suite) Verify(ctx context.Context) (*Report, error) {
	run, cases, err := s.prepare()
	if err != nil {
		return nil, err
	}
	first, err := run.Target.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", run.Target.Name, err)
	}
	defer first.Close()
	if _, err := first.Load(ctx, run.id+"-hello"); err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", run.Target.Name, err)
	}
	report := &Report{Target: run.Target.Name, Seed: run.Seed, Writers: run.Writers}
	start := time.Now()
	for number, total := 1, len(cases); len(cases) > 0; {
		batch := cases[:alike(cases)]
		cases = cases[len(batch):]
		results := make([]Result, len(batch))
		for i := range batch {
			if s.Began != nil {
				s.Began(&batch[i], number+i, total)
			}
		}
		together(len(batch), func(i int) error {
			results[i] = run.one(ctx, batch[i])
			return nil
		})
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		for i := range results {
			if s.Ended != nil {
				s.Ended(&results[i], number+i, total)
			}
		}
		report.Results = append(report.Results, results...)
		number += len(batch)
	}
	report.Elapsed = time.Since(start)
	return report, nil
}

// alike is how many of the next cases can be run at once: one, or several that
// merely wait.
func alike(cases []Case) int {
	n := 1
	for n < len(cases) && cases[0].waits && cases[n].waits {
		n++
	}
	return n
}

// run is a Suite with its defaults filled in.
type run struct {
	Suite
	id string // tells this run's sessions from those of all others
}

func (s *Suite) prepare() (*run, []Case, error) {
	r := &run{Suite: *s}
	if r.Target.Open == nil {
		return nil, nil, errors.New("contract: Target.Open is not set")
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	r.id = "contract-" + hex.EncodeToString(random[:])
	orDefault(&r.Writers, 8)
	orDefault(&r.Turns, 25)
	orDefault(&r.Timeout, 60*time.Second)
	cases, err := s.Selected()
	for i := range cases {
		cases[i].Seed = cmp.Or(r.Seed, cases[i].Seed)
	}
	return r, cases, err
}

func orDefault[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// Selected returns the cases that Gates and Cases select, or an error that says what is wrong with the
// selection.
func (s *Suite) Selected() ([]Case, error) {
	for _, g := range s.Gates {
		if !slices.Contains(Gates[:], g) {
			return nil, fmt.Errorf("there is no gate %q; the gates are %v", g, Gates)
		}
	}
	used := make([]bool, len(s.Cases))
	cases := slices.DeleteFunc(Cases(), func(c Case) bool {
		named := len(s.Cases) == 0
		for i, pattern := range s.Cases {
			if c.matches(pattern) {
				named, used[i] = true, true
			}
		}
		return !named || len(s.Gates) > 0 && !slices.Contains(s.Gates, c.Gate)
	})
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("no case is named %q", s.Cases[i])
	}
	if len(cases) == 0 {
		return nil, errors.New("no case is in that gate under that name")
	}
	return cases, nil
}
