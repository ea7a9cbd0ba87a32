package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/report"
	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// finish judges the run and writes the report.
func (r *run) finish(ctx context.Context) error {
	for _, death := range r.cluster.Deaths() {
		r.report.Fail("%s", death)
	}
	lost := r.cluster.Lost()
	r.cluster.Close()
	r.scanLogs()
	if err := r.rec.Close(); err != nil {
		return err
	}
	h, err := history.Load(filepath.Join(r.dir, "history.jsonl"))
	if err != nil {
		return err
	}
	r.say("checking %d operations", len(h.Operations))
	stalled := r.stalls.within(0, r.rec.Now())
	if len(stalled) > 0 {
		r.say("the machine stalled %d times, for up to %s: elections and slow writes about these times are no faults "+
			"of the nodes", len(stalled), worst(stalled).Round(time.Millisecond))
	}
	opts := lincheck.DefaultOptions()
	opts.Refusals, opts.Rights = r.refusals(h, stalled), h.RightsLosses()
	if r.Clocks {
		opts.ClockSlack = wrongClockSlack
	}
	opts.PresentRevisions = r.Upgrade || r.Mixed
	sum := report.Measure(h, r.from, r.to)
	opts.Calm = len(r.Nemesis) == 0 && r.Drive == nil && sum.LeaderChanges == 0
	r.report.Checked = lincheck.Check(h.Operations, opts)
	sum.StateHash, sum.HashIndex = r.report.Figures.StateHash, r.report.Figures.HashIndex
	sum.Sometimes, sum.AnswersLost = r.sometimes(), lost
	r.report.Figures = sum
	if r.work != nil {
		r.report.Counts = r.work.Count()
		r.requirements()
	}
	if r.draw {
		r.pictures(h)
	}
	if !r.keepData && len(r.report.Problems) == 0 && r.report.Checked.Passed() {
		if err := os.RemoveAll(filepath.Join(r.dir, "data")); err != nil {
			return err
		}
	}
	return r.report.Write(r.dir, h)
}

// requirements are what a run must have done to count.
func (r *run) requirements() {
	if rate := r.report.Figures.WritesPerSecond; rate < float64(r.MinRate) {
		r.report.Fail("only %.1f writes a second were acknowledged, at least %d are wanted", rate, r.MinRate)
	}
	r.quarters()
	if r.to-r.from < r.Time-time.Second {
		return
	}
	counted := met(r.report)
	for _, name := range r.Must {
		if counted[name] == 0 {
			r.report.Fail("%s: none, and this scenario is there to have some", name)
		}
	}
}

// pauseOfFault is how long one fault may keep writes from being acknowledged: an election, and the
// deadlines of clients that waited for the former leader.
const pauseOfFault = 3 * time.Second

// quarters looks for writes that stopped while there was a quorum. Nothing follows of a quarter that one
// fault, where there are any, may take the whole of.
func (r *run) quarters() {
	quarter := (r.to - r.from) / 4
	if len(r.Nemesis) > 0 && quarter < 2*pauseOfFault || r.Special != nil {
		return
	}
	for i, rate := range r.report.Figures.Quarters {
		share := r.report.Figures.Quorum[i]
		begin := r.from + time.Duration(i)*quarter
		stalled := r.stalls.within(begin, begin+quarter)
		if rate < float64(r.MinRate)/4*share && len(stalled) == 0 {
			r.report.Fail("only %.1f writes a second were acknowledged in quarter %d of the time, although there was "+
				"a quorum for %.0f %% of it", rate, i+1, 100*share)
		}
	}
}

// scanLogs looks for what must never be in a node's log.
func (r *run) scanLogs() {
	for _, n := range r.cluster.Nodes {
		f, err := os.Open(n.Log)
		if err != nil {
			continue
		}
		in := bufio.NewScanner(f)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			line := in.Text()
			if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
				strings.Contains(line, "WARNING: DATA RACE") {
				r.report.Fail("%s: %s", filepath.Base(n.Log), line)
				break
			}
		}
		f.Close()
	}
}

const pictures = 3

// pictures draws the first sessions in which something is wrong.
func (r *run) pictures(h *history.History) {
	drawn := map[string]bool{}
	for _, v := range append(r.report.Checked.Violations, r.report.Checked.Undecided...) {
		if drawn[v.Session] || len(drawn) == pictures {
			continue
		}
		drawn[v.Session] = true
		f, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("session-%d.html", len(drawn))))
		if err != nil {
			return
		}
		if err := lincheck.Picture(f, h.Operations, v.Session, 10*time.Second); err != nil {
			r.say("picture of %s: %v", v.Session, err)
		}
		f.Close()
	}
}
