package raftstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/turn"
)

// TestSimulation lets clusters go through minutes of faults in seconds, and has
// the checker of package cluster-test judge what their callers saw.
//
// TURNLOG_SEEDS is how many clusters, TURNLOG_SEED the first one's seed. Goroutines
// are scheduled as they please, so a seed makes a failure likely to come back, not
// certain.
func TestSimulation(t *testing.T) {
	seeds := 5
	if testing.Short() {
		seeds = 2
	}
	if n, err := strconv.Atoi(os.Getenv("TURNLOG_SEEDS")); err == nil {
		seeds = n
	}
	first := rand.Uint64N(1 << 32)
	if n, err := strconv.ParseUint(os.Getenv("TURNLOG_SEED"), 10, 64); err == nil {
		first = n
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint("TURNLOG_SEED=", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, dir string) { simulate(t, seed, dir) })
		})
	}
}

const (
	simWorkers = 5
	simTime    = time.Minute
)

func simulate(t *testing.T, seed uint64, dir string) {
	nodes := 3
	if seed%4 == 0 {
		nodes = 5
	}
	c := newSimCluster(t, seed, dir, nodes)
	defer c.abandon()
	defer c.net.safety.judge(t)
	c.recover()
	c.within(30*time.Second, "the cluster's level is raised",
		func() bool { return c.leader() != nil && c.leader().Level() == turn.NewestLevel })
	w := newSimWork(c)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var workers sync.WaitGroup
	for i := range simWorkers {
		workers.Go(func() { w.run(ctx, seed*simWorkers+uint64(i)) })
	}
	began := time.Now()
	for time.Since(began) < simTime {
		c.faultPhase()
	}
	c.net.heal()
	stop()
	workers.Wait()
	c.recover()
	c.sameState()
	time.Sleep(simExpired)
	w.readAll()
	w.checkPairs()
	_, term, _ := c.leader().raft.State()
	c.close()
	opts := lincheck.DefaultOptions()
	opts.ClockSlack += 2 * simExactSkew
	v := lincheck.Check(w.ops, opts)
	for _, f := range append(v.Violations, v.Undecided...) {
		t.Error(f)
	}
	if w.acked < 100 {
		t.Errorf("only %d writes were acknowledged", w.acked)
	}
	t.Logf("%d nodes, %d calls, %d writes acknowledged, %d with an unknown outcome, %d transactions, %d sessions, %d "+
		"terms, %d crashes, %d snapshots installed, %d members replaced",
		nodes, len(w.ops), w.acked, w.unknown, len(w.pairs), v.Sessions, term, c.crashes, c.installed, c.replaced)
}

// faultPhase does one or two things to the cluster, for a while.
func (c *simCluster) faultPhase() {
	last := time.Duration(100+c.rnd.IntN(4000)) * time.Millisecond
	undo := []func(){c.fault(last)}
	if c.rnd.IntN(3) == 0 {
		time.Sleep(time.Duration(c.rnd.Int64N(int64(last))))
		undo = append(undo, c.fault(last))
	}
	time.Sleep(last)
	for _, u := range undo {
		u()
	}
	time.Sleep(time.Duration(c.rnd.IntN(3000)) * time.Millisecond)
}

// fault does something to the cluster, and returns what undoes it.
func (c *simCluster) fault(last time.Duration) (undo func()) {
	id := c.ids[c.rnd.IntN(len(c.ids))]
	if n := c.leader(); n != nil && c.rnd.IntN(2) == 0 {
		id = n.id
	}
	n := c.node(id)
	if n == nil {
		return func() {}
	}
	others := c.others(id)
	switch c.rnd.IntN(19) {
	case 0, 1:
		c.crash(id)
	case 2:
		for _, id := range c.ids {
			c.crash(id)
		}
	case 3:
		c.halt(id)
	case 4: // alone
		c.cut(id, others, true, true)
	case 5: // heard by no other node, or deaf
		deaf := c.rnd.IntN(2) == 0
		c.cut(id, others, !deaf, deaf)
	case 6: // cut off from some
		c.cut(id, others[:1+c.rnd.IntN(len(others)-1)], true, true)
	case 7:
		most := time.Duration(c.rnd.IntN(400)) * time.Millisecond
		for _, o := range others {
			c.net.set(id, o, func(l *line) { l.delay = most })
			c.net.set(o, id, func(l *line) { l.delay = most })
		}
	case 8: // faster than an election
		for range 8 {
			o := others[c.rnd.IntN(len(others))]
			c.cut(id, []string{o}, c.rnd.IntN(2) == 0, c.rnd.IntN(2) == 0)
			time.Sleep(last / 8)
		}
	case 9:
		n.slow.set(time.Duration(c.rnd.IntN(1500)) * time.Millisecond)
		return func() { n.slow.set(0) }
	case 10, 11:
		c.depose(c.tardy)
	case 12:
		c.swapMajority(id)
	case 13:
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if c.rnd.IntN(2) == 0 {
			_ = n.Snapshot(ctx)
		} else {
			_ = n.TransferLeadership(ctx)
		}
	case 14, 15, 16:
		c.electAmidDelays(last)
	case 17, 18:
		return c.replaceMember(id)
	}
	return func() {
		c.net.heal()
		c.revive()
	}
}

// cut cuts the lines from a node to others, and theirs to it, or mends them.
func (c *simCluster) cut(id string, others []string, to, from bool) {
	for _, o := range others {
		c.net.set(id, o, func(l *line) { l.cut = to })
		c.net.set(o, id, func(l *line) { l.cut = from })
	}
}
