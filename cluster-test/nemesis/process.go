package nemesis

import (
	"context"
	"errors"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/testcluster"
)

func processFaults() []Fault {
	return []Fault{
		{Name: "kill-leader", About: "kill -9 of the leader", Pick: to(theLeader, kill), Hold: seconds(0.2, 4)},
		{Name: "kill-follower", About: "kill -9 of a follower", Pick: to(aFollower, kill), Hold: seconds(0.2, 4)},
		{Name: "kill-random", About: "kill -9 of some node", Pick: to(someNode, kill), Hold: seconds(0, 2)},
		{Name: "kill-all", About: "kill -9 of every node at once", Pick: toAll(killAll), Hold: seconds(0, 1)},
		{Name: "crash-loop", About: "kill -9 of a node again and again while it starts", Pick: to(someNode, crashLoop)},
		{Name: "pause-leader", About: "SIGSTOP of the leader", Pick: to(theLeader, pause), Hold: seconds(0.3, 6)},
		{Name: "pause-follower", About: "SIGSTOP of a follower", Pick: to(aFollower, pause), Hold: seconds(0.3, 6)},
		{Name: "stop-leader", About: "SIGTERM to the leader, and start it again", Pick: to(theLeader, stop),
			Hold: seconds(0, 2)},
		{Name: "rolling-restart", About: "SIGTERM to each node in turn, as an upgrade does it", Alone: true,
			Pick: toAll(rollingRestart)},
	}
}

// start starts n unless another fault's undoing has.
func start(n *cluster.Node) error {
	if n.Running() {
		return nil
	}
	return n.Start()
}

func starts(n *cluster.Node) healer {
	return func(context.Context) error { return start(n) }
}

func kill(_ context.Context, _ *Env, n *cluster.Node) (healer, error) { return starts(n), n.Kill() }

func killAll(_ context.Context, e *Env) (healer, error) {
	var all []func() error
	for _, n := range e.Cluster.Nodes {
		if n.Running() {
			all = append(all, n.Kill)
		}
	}
	return func(context.Context) error { return startAll(e) }, together(all)
}

// together does everything at once.
func together(all []func() error) error {
	done := make(chan error, len(all))
	for _, do := range all {
		go func() { done <- do() }()
	}
	var errs []error
	for range all {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

func startAll(e *Env) error {
	for _, n := range e.Cluster.Nodes {
		if err := start(n); err != nil {
			return err
		}
	}
	return nil
}

// crashLoop kills a node at a random moment of its start, some times.
func crashLoop(ctx context.Context, e *Env, n *cluster.Node) (healer, error) {
	for range 2 + e.Rand.IntN(4) {
		if err := n.Kill(); err != nil {
			return nil, err
		}
		if err := start(n); err != nil {
			return nil, err
		}
		sleep(ctx, between(e.Rand, seconds(0.02, 0.8)))
	}
	return starts(n), nil
}

func pause(_ context.Context, _ *Env, n *cluster.Node) (healer, error) {
	return func(context.Context) error {
		if !n.Running() {
			return nil // killed meanwhile, by another fault
		}
		return n.Resume()
	}, n.Pause()
}

// stopLimit is how long a node may take to stop when it is asked to. Handing
// over leadership and finishing what is in flight are included.
const stopLimit = 15 * time.Second

func stop(_ context.Context, _ *Env, n *cluster.Node) (healer, error) {
	return starts(n), n.Stop(stopLimit)
}

func rollingRestart(ctx context.Context, e *Env) (healer, error) {
	for _, n := range e.Cluster.Nodes {
		if !n.Healthy() {
			continue
		}
		if err := n.Stop(stopLimit); err != nil {
			return nil, err
		}
		if err := start(n); err != nil {
			return nil, err
		}
		ready, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := testcluster.Until(ready, n.ID+" is ready again", func() bool { return n.Ready(ready) || !n.Running() })
		cancel()
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return nil, nil
}
