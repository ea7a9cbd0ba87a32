package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/cluster-test/workload"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// Evidence scenarios show single promises with figures. They are judged like
// all others.
const evidencePrefix = "evidence-"

func evidence() []Scenario {
	appends := []string{"append"}
	return []Scenario{
		{Name: evidencePrefix + "leader-kill", About: "kill -9 of the leader, ten times, under 16 writers and readers",
			Workloads: appends,
			Workers:   16, Rate: 800, Drive: killLeaderTenTimes, Must: []string{"leader changes"}},
		{Name: evidencePrefix + "kill-all",
			About: "kill -9 of all nodes at once, three times, under 16 writers and readers", Workloads: appends,
			Workers: 16, Rate: 800, Drive: killAllThrice},
		{Name: evidencePrefix + "lost-replies",
			About: "the answers to 1,000 writes lost, also across a leader change and a snapshot install on the " +
				"new leader",
			Workloads: []string{"append", "cas", "turns"}, Workers: 16, Rate: 800, Flags: smallLog, Drive: loseThousand,
			Must: []string{"duplicates", "snapshot installs"}},
		{Name: evidencePrefix + "two-workers", About: "two workers, one session, 10,000 conditional rounds each",
			Special: workload.Pair(10_000),
			Workers: 2, Rate: -1, Drive: untilIdle, Must: []string{"conflicts"}},
		{Name: evidencePrefix + "snapshot",
			About:     "a node whose log was truncated meanwhile catches up while writes go on",
			Workloads: []string{"append", "turns", "mixed"}, Workers: 16, Rate: 1000, Flags: smallLog, Drive: catchUp,
			Must: []string{"snapshot installs"}},
		{Name: evidencePrefix + "restart", About: "kill -9 and restart of a node that holds a million messages",
			Alone: restartMillion,
			Flags: []string{"--memory-budget", memoryBudget}},
		{Name: evidencePrefix + "bad-input",
			About: "what no client should send: a clear error or a clean close each time", Alone: badInput},
	}
}

func untilIdle(ctx context.Context, r *run) error {
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func killLeaderTenTimes(ctx context.Context, r *run) error {
	for range 10 {
		if err := r.settle(ctx); err != nil {
			return err
		}
		sleep(ctx, r.between(0.5, 3))
		if err := r.env.Once(ctx, "kill-leader", r.between(1, 3)); err != nil {
			return err
		}
	}
	sleep(ctx, 3*time.Second)
	return ctx.Err()
}

func killAllThrice(ctx context.Context, r *run) error {
	for range 3 {
		if err := r.settle(ctx); err != nil {
			return err
		}
		sleep(ctx, r.between(1, 3))
		if err := r.env.Once(ctx, "kill-all", 0); err != nil {
			return err
		}
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second)
	return ctx.Err()
}

const (
	lostAnswers  = 1000
	settleLimit  = 30 * time.Second
	stepLimit    = 2 * time.Minute
	lossesAtKill = 300
)

// loseThousand loses a third of the answers: at first only that, then with a
// leader change, then with a leader whose state came from a snapshot.
func loseThousand(ctx context.Context, r *run) error {
	ctx, cancel := context.WithTimeout(ctx, 3*stepLimit)
	defer cancel()
	r.cluster.LoseAnswers(0.3)
	lost := func(n int64) error {
		return testcluster.Until(ctx, fmt.Sprintf("the answers to %d writes are lost", n),
			func() bool { return r.work.Count().Unknown >= n })
	}
	if err := lost(lossesAtKill); err != nil {
		return err
	}
	if err := r.env.Once(ctx, "kill-leader", time.Second); err != nil {
		return err
	}
	n, err := r.absence(ctx)
	if err != nil {
		return err
	}
	if err := r.makeLeader(ctx, n); err != nil {
		return err
	}
	r.report.Show("%s leads with a state that came from a snapshot, after the answers to %d writes were lost", n.ID,
		r.work.Count().Unknown)
	if err := lost(lostAnswers); err != nil {
		return err
	}
	sleep(ctx, 2*time.Second)
	r.report.Show("the answers to %d writes were lost in all, and %d of them were told that they had been carried "+
		"out before",
		r.work.Count().Unknown, r.work.Count().Duplicates)
	return nil
}

// catchUp is absence, watched.
func catchUp(ctx context.Context, r *run) error {
	sleep(ctx, 2*time.Second)
	for range 2 {
		if _, err := r.absence(ctx); err != nil {
			return err
		}
		sleep(ctx, 2*time.Second)
	}
	return ctx.Err()
}

// absence kills a follower, lets the others write until their log begins behind
// what it has, and starts it again. It returns when the node is ready.
func (r *run) absence(ctx context.Context) (*cluster.Node, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	followers := r.cluster.Followers(ctx)
	if len(followers) == 0 {
		return nil, errors.New("no follower to kill")
	}
	n := followers[r.env.Rand.IntN(len(followers))]
	installed := r.sometimes()["snapshot installs"]
	has, err := n.Metrics(ctx, "turnlog_log_last_index")
	if err != nil {
		return nil, err
	}
	r.rec.Fault(n.ID, "long-absence", true)
	if err := n.Kill(); err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	// What was on its way to n when it died comes on top.
	if err := testcluster.Until(limit, "logs are truncated",
		func() bool { return r.logsBegin(limit, n) > has[0]+100 }); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := n.Start(); err != nil {
		return nil, err
	}
	err = testcluster.Until(limit, n.ID+" has caught up", func() bool { return n.Ready(limit) })
	r.rec.Fault(n.ID, "long-absence", false)
	if err != nil {
		return nil, err
	}
	r.report.Show("%s was ready %v after its start, from a snapshot, while writes went on", n.ID,
		time.Since(start).Round(time.Millisecond))
	// The log tells of the snapshot a moment after the node is ready.
	told, cancelTold := context.WithTimeout(ctx, 5*time.Second)
	defer cancelTold()
	err = testcluster.Until(told, n.ID+" tells of a snapshot",
		func() bool { return r.sometimes()["snapshot installs"] > installed })
	if err != nil {
		return nil, fmt.Errorf("the node caught up by its log, which is not what the scenario is for: %w", err)
	}
	return n, nil
}

// logsBegin returns the lowest first index of the logs of all nodes but one.
func (r *run) logsBegin(ctx context.Context, but *cluster.Node) float64 {
	lowest := math.Inf(1)
	for _, n := range r.cluster.Nodes {
		if n == but {
			continue
		}
		first, err := n.Metrics(ctx, "turnlog_log_first_index")
		if err != nil {
			return 0
		}
		lowest = min(lowest, first[0])
	}
	return lowest
}

// makeLeader kills leaders until n is one.
func (r *run) makeLeader(ctx context.Context, n *cluster.Node) error {
	for {
		leader, err := r.cluster.WaitLeader(ctx, nil)
		if err != nil || leader == n {
			return err
		}
		if err := r.env.Once(ctx, "kill-leader", time.Second); err != nil {
			return err
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
}

// settle waits until every node is ready.
func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return r.cluster.WaitReady(ctx)
}

func (r *run) between(low, high float64) time.Duration {
	return time.Duration((low + (high-low)*r.env.Rand.Float64()) * float64(time.Second))
}
