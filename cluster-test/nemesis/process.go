package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

type (
	healer = func(context.Context) error
	choose = func(context.Context, *Env) *cluster.Node
)

func theLeader(ctx context.Context, e *Env) *cluster.Node { return e.leader(ctx) }
func aFollower(ctx context.Context, e *Env) *cluster.Node { return e.follower(ctx) }
func someNode(_ context.Context, e *Env) *cluster.Node    { return e.anyone() }
func seconds(low, high float64) [2]time.Duration {
	return [2]time.Duration{time.Duration(low * float64(time.Second)), time.Duration(high * float64(time.Second))}
}

func processFaults() []Fault {
	return []Fault{
		{Name: "kill-leader", About: "kill -9 of the leader", Inject: kill(theLeader), Hold: seconds(0.2, 4)},
		{Name: "kill-follower", About: "kill -9 of a follower", Inject: kill(aFollower), Hold: seconds(0.2, 4)},
		{Name: "kill-random", About: "kill -9 of some node", Inject: kill(someNode), Hold: seconds(0, 2)},
		{Name: "kill-all", About: "kill -9 of every node at once", Inject: killAll, Hold: seconds(0, 1)},
		{Name: "crash-loop", About: "kill -9 of a node again and again while it starts", Inject: crashLoop},
		{Name: "pause-leader", About: "SIGSTOP of the leader", Inject: pause(theLeader), Hold: seconds(0.3, 6)},
		{Name: "pause-follower", About: "SIGSTOP of a follower", Inject: pause(aFollower), Hold: seconds(0.3, 6)},
		{Name: "stop-leader", About: "SIGTERM to the leader, and start it again", Inject: stop(theLeader), Hold: seconds(0, 2)},
		{Name: "rolling-restart", About: "SIGTERM to each node in turn, as an upgrade does it", Inject: rollingRestart},
	}
}

func kill(whom choose) func(context.Context, *Env) (string, healer, error) {
	return func(ctx context.Context, e *Env) (string, healer, error) {
		n := whom(ctx, e)
		if n == nil {
			return "", nil, nil
		}
		return n.ID, func(context.Context) error { return start(n) }, n.Kill()
	}
}

// start starts n unless another fault's undoing has.
func start(n *cluster.Node) error {
	if n.Running() {
		return nil
	}
	return n.Start()
}

func killAll(_ context.Context, e *Env) (string, healer, error) {
	done := make(chan error, len(e.Cluster.Nodes))
	for _, n := range e.Cluster.Nodes {
		go func() {
			if !n.Running() {
				done <- nil
				return
			}
			done <- n.Kill()
		}()
	}
	for range e.Cluster.Nodes {
		if err := <-done; err != nil {
			return "all", nil, err
		}
	}
	return "all", func(context.Context) error { return startAll(e) }, nil
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
func crashLoop(ctx context.Context, e *Env) (string, healer, error) {
	n := e.anyone()
	if n == nil {
		return "", nil, nil
	}
	for range 2 + e.Rand.IntN(4) {
		if err := n.Kill(); err != nil {
			return n.ID, nil, err
		}
		if err := start(n); err != nil {
			return n.ID, nil, err
		}
		sleep(ctx, between(e.Rand, seconds(0.02, 0.8)))
	}
	return n.ID, func(context.Context) error { return start(n) }, nil
}

func pause(whom choose) func(context.Context, *Env) (string, healer, error) {
	return func(ctx context.Context, e *Env) (string, healer, error) {
		n := whom(ctx, e)
		if n == nil {
			return "", nil, nil
		}
		heal := func(context.Context) error {
			if n.Running() {
				return n.Resume()
			}
			return nil
		}
		return n.ID, heal, n.Pause()
	}
}

// stopLimit is how long a node may take to stop when it is asked to. Handing
// over leadership and finishing what is under way are included.
const stopLimit = 15 * time.Second

func stop(whom choose) func(context.Context, *Env) (string, healer, error) {
	return func(ctx context.Context, e *Env) (string, healer, error) {
		n := whom(ctx, e)
		if n == nil {
			return "", nil, nil
		}
		return n.ID, func(context.Context) error { return start(n) }, n.Stop(stopLimit)
	}
}

func rollingRestart(ctx context.Context, e *Env) (string, healer, error) {
	for _, n := range e.Cluster.Nodes {
		if !n.Healthy() {
			continue
		}
		if err := n.Stop(stopLimit); err != nil {
			return n.ID, nil, err
		}
		if err := start(n); err != nil {
			return n.ID, nil, err
		}
		ready, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := cluster.Until(ready, n.ID+" is ready again", func() bool { return n.Ready(ready) || !n.Running() })
		cancel()
		if err != nil && ctx.Err() == nil {
			return n.ID, nil, fmt.Errorf("rolling restart: %w", err)
		}
	}
	return "all", nil, nil
}
