package nemesis

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Env is what faults act on.
type Env struct {
	Cluster  *cluster.Cluster
	Recorder *history.Recorder
	Rand     *rand.Rand
	// Calm is how long the cluster is left alone between two faults. The default
	// is often too short to recover.
	Calm [2]time.Duration
}

// Fault is a kind of fault that can be injected.
type Fault struct {
	Name  string
	About string
	// Nodes is how many nodes a cluster must have for it; 0: any number.
	Nodes int
	// Disks: it needs nodes whose data lies on disks of the harness's own.
	Disks bool
	// Clocks: it needs nodes whose clocks can be put wrong.
	Clocks bool
	// Secure: it needs a cluster with users and certificates.
	Secure bool
	// Spares is how many nodes it needs that are no members.
	Spares int
	// Shapes: it needs a network that can do more than cut.
	Shapes bool
	// Open: turnlog does not pass it yet. It is injected only by name.
	Open bool
	// Alone: it is not combined with others, since it waits for the cluster to
	// work in between.
	Alone bool
	// Refuses are the kinds of errors, besides Unavailable and Unknown, with which calls may fail
	// because of it: while it lasts, and until the nodes have learned that it is over.
	Refuses []turn.Kind
	// Pick chooses a target and what to do to it; a nil action means that there
	// is no target now.
	Pick func(ctx context.Context, e *Env) (target string, act action)
	// Hold is how long it lasts, at least and at most, beyond what the action takes.
	Hold [2]time.Duration
}

type (
	// action makes something go wrong; undo, which may be nil, makes it good again.
	action = func(ctx context.Context) (undo healer, err error)
	healer = func(context.Context) error
)

func between(r *rand.Rand, d [2]time.Duration) time.Duration {
	if d[1] <= d[0] {
		return d[0]
	}
	return d[0] + time.Duration(r.Int64N(int64(d[1]-d[0])))
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// anyone returns a node that runs, nil if there is none.
func (e *Env) anyone() *cluster.Node {
	var up []*cluster.Node
	for _, n := range e.Cluster.Nodes {
		if n.Healthy() {
			up = append(up, n)
		}
	}
	return oneOf(e.Rand, up)
}

func oneOf(r *rand.Rand, nodes []*cluster.Node) *cluster.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[r.IntN(len(nodes))]
}

// others returns the names of all nodes but n.
func (e *Env) others(n *cluster.Node) []string {
	var out []string
	for _, o := range e.Cluster.Nodes {
		if o != n {
			out = append(out, o.ID)
		}
	}
	return out
}
