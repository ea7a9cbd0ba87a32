package nemesis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// choose returns a node, nil if there is none such now.
type choose = func(context.Context, *Env) *cluster.Node

func theLeader(ctx context.Context, e *Env) *cluster.Node { return e.Cluster.Leader(ctx) }

func aFollower(ctx context.Context, e *Env) *cluster.Node {
	return oneOf(e.Rand, e.Cluster.Followers(ctx))
}

func someNode(_ context.Context, e *Env) *cluster.Node { return e.anyone() }

func mostlyLeader(ctx context.Context, e *Env) *cluster.Node {
	if e.Rand.IntN(3) == 0 {
		return e.anyone()
	}
	return e.Cluster.Leader(ctx)
}

func seconds(low, high float64) [2]time.Duration {
	return [2]time.Duration{time.Duration(low * float64(time.Second)), time.Duration(high * float64(time.Second))}
}

// pick is a fault that happens to one node.
type pick = func(context.Context, *Env) (string, action)

// to has do happen to the node that is chosen.
func to(whom choose, do func(ctx context.Context, e *Env, n *cluster.Node) (healer, error)) pick {
	return func(ctx context.Context, e *Env) (string, action) {
		n := whom(ctx, e)
		if n == nil {
			return "", nil
		}
		return n.ID, func(ctx context.Context) (healer, error) { return do(ctx, e, n) }
	}
}

// toAll has do happen to the whole cluster.
func toAll(do func(ctx context.Context, e *Env) (healer, error)) pick {
	return func(_ context.Context, e *Env) (string, action) {
		return "all", func(ctx context.Context) (healer, error) { return do(ctx, e) }
	}
}
