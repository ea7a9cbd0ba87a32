package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/turnlog/turnlog/cluster-test/report"
)

// A soak goes on through its scenarios, each run with a seed of its own, until its time is
// over, whatever fails meanwhile. Its report is written again after each run, so that one
// which is interrupted has told what it saw.

// soakRun is the longest that a scenario works in a soak: many seeds show more than long runs.
const soakRun = 2 * time.Minute

// soak runs the scenarios until a.lasts is over, and reports whether all passed. No run
// begins after that time, and the last one is finished.
func (a *arguments) soak(ctx context.Context, chosen []Scenario, b *builds) (bool, error) {
	end := time.Now().Add(a.lasts)
	book := report.NewSoak(a.seed, a.lasts, time.Now())
	for run := 0; ; run++ {
		s := chosen[run%len(chosen)]
		if time.Now().After(end) || ctx.Err() != nil {
			break
		}
		if s.Time > soakRun {
			s.Time, s.Must = soakRun, nil
		}
		if problem := s.impossible(b.dir); problem != nil {
			book.LeaveOut(s.Name, problem)
			if book.AllLeftOut(len(chosen)) {
				return false, errors.New("no scenario of the soak can run on this machine")
			}
			continue
		}
		r, dir, err := a.one(ctx, s, a.seed+uint64(run), b)
		if ctx.Err() != nil {
			break // what was interrupted says nothing
		}
		if err != nil {
			return false, err
		}
		if err := a.entered(book, r, dir, time.Now()); err != nil {
			return false, err
		}
	}
	if never := a.totals.print(); a.totals.runs >= len(chosen) && len(never) > 0 {
		fmt.Printf("      never met: %v\n", never)
	}
	return a.totals.failed == 0, ctx.Err()
}

// entered adds a run to the soak's report, and removes what the run left if it passed.
func (a *arguments) entered(book *report.Soak, r *report.Report, dir string, now time.Time) error {
	book.Add(r, dir, met(r))
	if r.Passed && !a.keep {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if a.report == "" {
		return nil
	}
	return book.WriteFile(a.report, now)
}
