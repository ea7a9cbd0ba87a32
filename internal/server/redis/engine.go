package redis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Engine is what stands behind the door. Its methods may be called by any
// goroutine; its errors are *turn.Error.
type Engine interface {
	// Submit hands over a write and returns at once. Writes submitted one after
	// another by one goroutine are applied in that order.
	Submit(ctx context.Context, op turn.Op) Pending
	Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error)
	// Watch announces changes of a session on this node: after each applied
	// change, a token can be received.
	Watch(k turn.Key) (changed <-chan struct{}, stop func())
	Cluster(ctx context.Context) (turn.Cluster, error)
	// Level returns the cluster's level as far as this node has applied it.
	Level() turn.ClusterLevel
	Ready() (ok bool, reasons []string)
	Limits() turn.Limits
	// Calm returns when there is room for more work that can wait.
	Calm(ctx context.Context) error
	// Copies tells whether this node, and how many others, have the log up to an
	// applied entry on disk. It returns when enough others are known to, when all
	// have been asked, or when ctx ends.
	Copies(ctx context.Context, index uint64, enough int) (own bool, others int)
	Bus
}

// Pending is a write on its way.
type Pending interface {
	// Done is closed when Wait has something to return.
	Done() <-chan struct{}
	// Wait waits for the outcome, or for the context of Submit; then the error is
	// of kind Unknown, unless the write surely did not take place.
	Wait() (turn.Result, error)
}

// linearizable reads see every write that was acknowledged before they began.
var linearizable = turn.Consistency{Level: turn.Linearizable}

// thisNode is for reads of the state of the node itself, which may be behind the
// leader that answered a linearizable one.
var thisNode = turn.Consistency{Level: turn.Stale}

// since answers a query that goes on from an answer at log entry index: from the
// node's own state if that comprises the entry, else linearizably. Index 0 is
// before every answer.
func (s *Server) since(ctx context.Context, index uint64, q turn.Query) (turn.Result, error) {
	if index > 0 {
		if r, err := s.engine.Query(ctx, q, thisNode); err != nil || r.Index >= index {
			return r, err
		}
	}
	return s.engine.Query(ctx, q, linearizable)
}

// clusterTime is the best estimate of the cluster's clock at the moment at which
// r was answered: the state machine's clock stands still between log entries.
func (s *Server) clusterTime(r turn.Result) int64 {
	return max(s.cfg.Now().UnixMilli(), r.Time)
}

// wait waits at most d for a change or for ctx; it reports whether there was a change.
func wait(ctx context.Context, changed <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
		return true
	case <-t.C:
		return false
	case <-ctx.Done():
		return false
	}
}
