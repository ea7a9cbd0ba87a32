package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// These need nodes whose clocks can be put wrong. One clock is wrong at a time, or two
// in opposite directions, which the others make up for.
func clockFaults() []Fault {
	return []Fault{
		{Name: "clock-offset", About: "a node starts with a wall clock that is wrong by up to hours", Nodes: 3,
			Alone: true, Clocks: true,
			Pick: to(mostlyLeader, clockOffset), Hold: seconds(1, 6)},
		{Name: "clock-jump", About: "a node's wall clock jumps forth and back while it runs, also just before it " +
			"comes to lead", Nodes: 3, Alone: true, Clocks: true,
			Pick: to(someNode, clockJump), Hold: seconds(1, 6)},
		{Name: "two-clocks", About: "one node's wall clock is fast and another's slow at the same time", Nodes: 3,
			Alone: true, Clocks: true,
			Pick: toAll(twoClocks), Hold: seconds(1, 6)},
		{Name: "clock-drift", About: "a node's clocks run 1 to 5 % fast or slow", Nodes: 3, Alone: true, Clocks: true,
			Pick: to(mostlyLeader, clockDrift), Hold: seconds(2, 8)},
	}
}

// rightClock is exact again, at once, which is one more jump.
func rightClock(n *cluster.Node) healer {
	return func(context.Context) error { return n.SetClock(0, 0) }
}

// offset is from a second to three hours, in either direction.
func (e *Env) offset() time.Duration {
	d := between(e.Rand, seconds(1, 10))
	if e.Rand.IntN(2) == 0 {
		d = between(e.Rand, seconds(60, 3*3600))
	}
	if e.Rand.IntN(2) == 0 {
		return -d
	}
	return d
}

func clockOffset(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	offset := e.offset()
	e.Recorder.Note(n.ID, fmt.Sprintf("clock wrong by %v", offset))
	if err := n.Kill(); err != nil {
		return nil, err
	}
	if err := n.SetClock(offset, 0); err != nil {
		return nil, err
	}
	if err := n.Start(); err != nil {
		return nil, err
	}
	ready, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := testcluster.Until(ready, n.ID+" is ready", func() bool { return n.Ready(ready) }); err != nil {
		return nil, err
	}
	return rightClock(n), e.clockIs(ctx, n, offset)
}

func clockJump(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	for range 1 + e.Rand.IntN(3) {
		offset := e.offset()
		e.Recorder.Note(n.ID, fmt.Sprintf("clock jumps to %v", offset))
		if err := n.SetClock(offset, 0); err != nil {
			return nil, err
		}
		if err := e.clockIs(ctx, n, offset); err != nil {
			return nil, err
		}
		if e.Rand.IntN(4) > 0 {
			e.elect(ctx, n)
			if err := e.clusterTime(ctx, n); err != nil {
				return nil, err
			}
		}
		sleep(ctx, between(e.Rand, seconds(0.1, 2)))
	}
	return rightClock(n), nil
}

// twoClocks has each of the two lead, too: between a fast clock and a slow one, the
// third is right.
func twoClocks(ctx context.Context, e *Env) (healer, error) {
	nodes := e.Rand.Perm(len(e.Cluster.Nodes))
	fast, slow := e.Cluster.Nodes[nodes[0]], e.Cluster.Nodes[nodes[1]]
	right := func(ctx context.Context) error {
		return errors.Join(rightClock(fast)(ctx), rightClock(slow)(ctx))
	}
	offset := e.offset().Abs()
	e.Recorder.Note(fast.ID, fmt.Sprintf("clock jumps to %v", offset))
	e.Recorder.Note(slow.ID, fmt.Sprintf("clock jumps to %v", -offset))
	if err := errors.Join(fast.SetClock(offset, 0), slow.SetClock(-offset, 0)); err != nil {
		return right, err
	}
	for _, n := range []*cluster.Node{fast, slow} {
		if !n.Running() {
			continue
		}
		e.elect(ctx, n)
		if err := e.clusterTime(ctx, n); err != nil {
			return right, err
		}
	}
	return right, nil
}

func clockDrift(_ context.Context, e *Env, n *cluster.Node) (healer, error) {
	drift := 10_000 + e.Rand.Int64N(40_001)
	if e.Rand.IntN(2) == 0 {
		drift = -drift
	}
	e.Recorder.Note(n.ID, fmt.Sprintf("clocks drift by %d millionths", drift))
	return rightClock(n), n.SetClock(0, drift)
}

// believed is how far one node's clock may take cluster time with it, and what
// clocks that were too fast before have added.
const believed = 4 * time.Second

func (e *Env) clusterTime(ctx context.Context, n *cluster.Node) error {
	ahead, err := n.ClusterAhead(ctx)
	if err != nil {
		e.note(n, "cluster time", err)
		return nil
	}
	e.Recorder.Note(n.ID, fmt.Sprintf("cluster time is ahead by %v", ahead.Round(time.Millisecond)))
	if ahead > believed {
		return fmt.Errorf("cluster time is ahead by %v: it followed one node's clock", ahead)
	}
	return nil
}

// clockIs makes sure that the fault is one: the node must tell the wrong time.
func (e *Env) clockIs(ctx context.Context, n *cluster.Node, offset time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return testcluster.Until(ctx, fmt.Sprintf("the wall clock of %s is off by %v", n.ID, offset), func() bool {
		is, err := n.WallOffset(ctx)
		return err == nil && (is-offset).Abs() < 1500*time.Millisecond
	})
}

// elect has leadership handed over until n leads, for a few times.
func (e *Env) elect(ctx context.Context, n *cluster.Node) {
	for range 4 {
		leader := e.Cluster.Leader(ctx)
		if leader == n {
			return
		}
		if leader != nil {
			e.note(leader, "transfer", leader.Transfer(ctx))
		}
		sleep(ctx, 300*time.Millisecond)
	}
}
