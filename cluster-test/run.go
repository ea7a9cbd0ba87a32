package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/nemesis"
	"github.com/turnlog/turnlog/cluster-test/report"
	"github.com/turnlog/turnlog/cluster-test/workload"
	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

const (
	startLimit  = 30 * time.Second
	healLimit   = 30 * time.Second // from the end of the faults until everything works
	hashLimit   = 60 * time.Second
	readLimit   = 5 * time.Minute
	expiryGrace = 6 * time.Second
	// Cluster time may follow a leader's clock by so much that is not right: two
	// seconds of offset, which is not corrected, and a drift of 5 %.
	wrongClockSlack = 2800 * time.Millisecond
	readers         = 8 // of whole sessions, at the end
)

// options are what the command line asks for.
type options struct {
	seed     uint64
	ports    string
	old      string // binary, of runs with nodes of two versions
	binary   string
	out      string // directory for the run's directory
	commit   string
	keepData bool
	draw     bool // sessions in which something is wrong
	say      func(format string, args ...any)
}

// run is a scenario while it runs.
type run struct {
	Scenario
	options
	dir      string
	cluster  *cluster.Cluster
	rec      *history.Recorder
	work     *workload.Run
	idle     chan struct{} // closed when the workers have ended
	env      *nemesis.Env
	report   *report.Report
	stalls   stalls
	from, to time.Duration // of the work, on the history's clock
	backups  []takenBackup // see drill.go
}

// execute runs a scenario and returns its report, written to a directory of its
// own. An error means that the harness itself has failed.
func execute(ctx context.Context, s Scenario, o options, command string) (*report.Report, string, error) {
	name := fmt.Sprintf("%s-%s-%d", time.Now().Format("20060102-150405"), s.Name, o.seed)
	r := &run{Scenario: s, options: o, dir: filepath.Join(o.out, name)}
	r.report = &report.Report{Scenario: s.Name, Command: command, Seed: o.seed, Commit: o.commit, Nodes: s.Nodes,
		Started: time.Now(), Checked: &lincheck.Verdict{}}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, "", err
	}
	var err error
	if r.rec, err = history.Create(filepath.Join(r.dir, "history.jsonl")); err != nil {
		return nil, "", err
	}
	cfg := cluster.Config{Binary: o.binary, Dir: r.dir, Nodes: s.Nodes, Flags: s.Flags, Seed: o.seed, Disks: s.Disks,
		Clocks: s.Clocks, Namespaces: s.Namespaces, Secure: s.Secure, Spares: s.Spares}
	if o.ports != "" {
		if _, err := fmt.Sscanf(o.ports, "%d-%d", &cfg.FirstPort, &cfg.LastPort); err != nil {
			return nil, "", fmt.Errorf("--ports %s: %w", o.ports, err)
		}
	}
	if r.cluster, err = cluster.New(cfg); err != nil {
		return nil, "", err
	}
	defer r.cluster.Close()
	if err := r.phases(ctx); err != nil {
		r.report.Fail("%v", err)
	}
	if err := r.finish(ctx); err != nil {
		return nil, r.dir, err
	}
	return r.report, r.dir, nil
}

// phases is the run itself. Its errors are the cluster's failures.
func (r *run) phases(ctx context.Context) error {
	start, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := r.useOld(); err != nil {
		return err
	}
	if err := r.cluster.Start(start); err != nil {
		return fmt.Errorf("start of the cluster: %w", err)
	}
	if !r.Mixed && !r.Upgrade { // else it rises later, or never
		if err := r.cluster.WaitLevel(start, turn.NewestLevel); err != nil {
			return err
		}
	}
	r.from = r.rec.Now()
	defer func() { r.report.Seconds = (r.to - r.from).Seconds() }()
	watched, stopWatch := context.WithCancel(ctx)
	var watches sync.WaitGroup
	watches.Go(func() { watchLeader(watched, r.cluster, r.rec) })
	watches.Go(func() { watchQuorum(watched, r.cluster, r.rec) })
	watches.Go(func() { r.stalls.watch(watched, r.rec.Now) })
	defer func() { stopWatch(); watches.Wait() }()

	if r.Alone != nil {
		err := r.Alone(ctx, r)
		r.to = r.rec.Now()
		return errors.Join(err, r.stop())
	}
	// Whatever happened during the faults, what they have left behind is worth a look.
	err := errors.Join(r.faultPhase(ctx), r.recover(ctx), r.stop())
	if err == nil && r.After != nil {
		err = r.After(ctx, r)
	}
	return err
}

// faultPhase lets workers work while faults happen.
func (r *run) faultPhase(ctx context.Context) error {
	r.work = workload.New(workload.Config{Cluster: r.cluster, Recorder: r.rec, Workloads: r.workloads(),
		Workers: r.Workers, Seed: r.seed, Rate: r.Rate})
	r.env = &nemesis.Env{Cluster: r.cluster, Recorder: r.rec, Rand: rand.New(rand.NewPCG(r.seed, 3))}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var worked error
	r.idle = make(chan struct{})
	go func() {
		defer close(r.idle)
		worked = r.work.Work(ctx)
	}()
	err := r.faults(ctx)
	r.to = r.rec.Now()
	// The faults end first: what is still in flight may be answered.
	err = errors.Join(err, r.cluster.Heal())
	stop()
	<-r.idle
	return errors.Join(err, worked)
}

func (r *run) workloads() []*workload.Workload {
	if r.Special != nil {
		return []*workload.Workload{r.Special}
	}
	var list []*workload.Workload
	for _, name := range r.Workloads {
		list = append(list, workload.ByName(name))
	}
	return list
}

func (r *run) faults(ctx context.Context) error {
	if r.Drive != nil {
		return r.Drive(ctx, r)
	}
	list, err := nemesis.ByName(r.Nemesis)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	parallel := make(chan error, 1)
	go func() { // ends when ctx does
		defer close(parallel)
		if r.Parallel != nil {
			parallel <- r.Parallel(ctx, r)
		}
	}()
	err = nemesis.Run(ctx, r.env, list)
	if err != nil {
		cancel()
	}
	<-ctx.Done()
	return errors.Join(err, <-parallel)
}

// recover requires the cluster to be well again soon, and reads everything.
func (r *run) recover(ctx context.Context) error {
	heal, cancel := context.WithTimeout(ctx, healLimit)
	defer cancel()
	if err := r.cluster.WaitReady(heal); err != nil {
		return fmt.Errorf("%v after the last fault: %w", healLimit, err)
	}
	if err := r.work.Finish(heal); err != nil {
		return err
	}
	var longest time.Duration
	for _, w := range r.workloads() {
		longest = max(longest, w.LongestTTL())
	}
	if longest > 0 {
		sleep(ctx, longest+expiryGrace) // an expiry is promised to come, which only time shows
	}
	hashes, cancel := context.WithTimeout(ctx, hashLimit)
	defer cancel()
	hash, err := r.cluster.WaitHashes(hashes)
	if err != nil {
		return err
	}
	r.report.Figures.StateHash, r.report.Figures.HashIndex = hash.StateHash, hash.HashIndex
	return r.readAll(ctx)
}

// readAll reads every session at every node, which has to work at once.
func (r *run) readAll(ctx context.Context) error {
	all, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	began := r.rec.Now()
	err := r.work.ReadAll(all, readers)
	r.report.Stall = worst(r.stalls.within(began, r.rec.Now()))
	if n := r.work.Count().FinalRetries; n > 0 && r.report.Stall == 0 {
		r.report.Fail("although nothing was done to the cluster any more, and the machine had time, %d reads had to "+
			"be repeated", n)
	}
	return err
}

const stopLimit = 20 * time.Second

// stop ends the nodes as an operator does, and requires that they end well.
func (r *run) stop() error { return r.cluster.StopAll(stopLimit) }

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
