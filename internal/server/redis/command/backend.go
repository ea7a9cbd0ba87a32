package command

import (
	"context"
	"math"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/cursors"
	"github.com/turnlog/turnlog/internal/server/redis/idpath"
	"github.com/turnlog/turnlog/internal/server/redis/waitqueue"
	"github.com/turnlog/turnlog/turn"
)

// Engine performs operations and answers queries. Its methods may be called by any goroutine;
// its errors are *turn.Error.
type Engine interface {
	// Submit hands over a write and returns at once. Writes submitted one after
	// another by one goroutine are applied in that order.
	Submit(ctx context.Context, op turn.Op) Pending
	Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error)
	// Watch announces changes of a session on this node: after each applied
	// change, a token can be received.
	Watch(k turn.Key) (changed <-chan struct{}, stop func())
	Cluster(ctx context.Context) (turn.Cluster, error)
	Limits() turn.Limits
	// Level returns the cluster's level as far as this node has applied it.
	Level() turn.ClusterLevel
	// Calm returns when there is room for more work that can wait.
	Calm(ctx context.Context) error
	// Copies tells whether this node, and how many others, have the log up to an
	// applied entry on disk. It returns when enough others are known to, when all
	// have been asked, or when ctx ends.
	Copies(ctx context.Context, index uint64, enough int) (local bool, others int)
}

// Pending is a write in flight.
type Pending interface {
	// Done is closed when Wait has something to return.
	Done() <-chan struct{}
	// Wait waits for the outcome, or for the context of Submit; then the error is
	// of kind Unknown, unless the write surely did not take place.
	Wait() (turn.Result, error)
}

// Config configures a Backend.
type Config struct {
	Engine  Engine
	Now     func() time.Time
	NodeID  string       // this node's name
	IDPaths idpath.Paths // see there
}

// Backend is what the handlers of one server share: the engine, and what they remember between
// requests. Any goroutine may use it.
type Backend struct {
	engine  Engine
	now     func() time.Time
	nodeID  string
	idPaths idpath.Paths
	table   *Table
	cursors cursors.Tables
	queues  waitqueue.Queues
}

// NewBackend returns a Backend for the handlers of a table.
func NewBackend(t *Table, cfg Config) *Backend {
	return &Backend{engine: cfg.Engine, now: cfg.Now, nodeID: cfg.NodeID, idPaths: cfg.IDPaths, table: t}
}

// Linearizable reads see every write that was acknowledged before they began.
var Linearizable = turn.Consistency{Level: turn.Linearizable}

// thisNode is for reads of the state of the node itself, which may be behind the
// leader that answered a linearizable one.
var thisNode = turn.Consistency{Level: turn.Stale}

// Since answers a query that goes on from an answer at log entry index: from the
// node's own state if that includes the entry, else linearizably. Index 0 is
// before every answer.
func (b *Backend) Since(ctx context.Context, index uint64, q turn.Query) (turn.Result, error) {
	if index > 0 {
		if r, err := b.engine.Query(ctx, q, thisNode); err != nil || r.Index >= index {
			return r, err
		}
	}
	return b.engine.Query(ctx, q, Linearizable)
}

// clusterTime is the best estimate of the cluster's clock at the moment at which
// r was answered: the state machine's clock does not move between log entries.
func (b *Backend) clusterTime(r turn.Result) int64 {
	return max(b.now().UnixMilli(), r.Time)
}

// relay passes tokens on until done is closed.
func relay(from <-chan struct{}, to chan<- struct{}, done <-chan struct{}) {
	for {
		select {
		case <-from:
			select {
			case to <- struct{}{}:
			default:
			}
		case <-done:
			return
		}
	}
}

// watchAll announces changes of any of the keys.
func (b *Backend) watchAll(keys []turn.Key) (changed chan struct{}, stop func()) {
	all := make(chan struct{}, 1)
	done := make(chan struct{})
	var stops []func()
	for _, k := range keys {
		one, stop := b.engine.Watch(k)
		stops = append(stops, stop)
		go relay(one, all, done)
	}
	return all, func() {
		close(done)
		for _, stop := range stops {
			stop()
		}
	}
}

// States are the log indexes of the oldest and the newest state that an answer is from.
type States struct{ Oldest, Newest uint64 }

// UnknownStates returns those of an answer that does not tell.
func UnknownStates() States { return States{0, math.MaxUint64} }

func (s States) with(index uint64) States {
	if s == (States{}) {
		return States{index, index}
	}
	return States{min(s.Oldest, index), max(s.Newest, index)}
}

// Ask does the queries of a, each from a state that includes those before it.
// That a key holds another type is for the answer to deal with; other errors
// are final.
func (b *Backend) Ask(ctx context.Context, a *Read) (_ Reply, seen States, _ error) {
	var one [1]Outcome
	os := one[:0]
	index, left := uint64(0), b.engine.Limits().ReadBytes
	for _, q := range a.Queries {
		r, err := b.Since(ctx, index, q)
		if err != nil && turn.KindOf(err) != turn.WrongType {
			return nil, States{}, err
		}
		if seen = seen.with(r.Index); err != nil { // which does not tell of what state
			seen = UnknownStates()
		}
		if left -= size(&r); left < 0 && len(os) > 0 {
			return nil, seen, b.tooLong()
		}
		os = append(os, Outcome{r, err})
		index = max(index, r.Index)
	}
	r, err := a.Answer(os)
	return r, seen, err
}

// size is how many bytes of values an answer has that is one of several.
func size(r *turn.Result) int {
	n := len(r.Value)
	for i := range r.Entries {
		for _, f := range r.Entries[i].Fields {
			n += len(f.Name) + len(f.Value)
		}
	}
	return n
}

// tooLong is the error of a request whose answers are too long together.
func (b *Backend) tooLong() error {
	return turn.Errorf(turn.TooLarge, "the answer would have more than %d bytes; ask for fewer keys, or for parts",
		b.engine.Limits().ReadBytes)
}
