package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// Run is one run of workers against a cluster.
type Run struct {
	cluster *cluster.Cluster
	rec     *history.Recorder
	prefix  string
	// interval is the mean time between two calls of a worker, beyond what the
	// calls take.
	interval  time.Duration
	pools     []*pool
	workers   []*worker
	tailers   []*tailer
	listeners []*listener

	counters  counters
	tokens    atomic.Int64
	processes atomic.Int64
	pipelines atomic.Int64
	mu        sync.Mutex
	err       error // of the harness itself
}

// Count returns what the workers have met so far.
func (r *Run) Count() Counts { return r.counters.snapshot() }

// Failed returns the first error of the harness itself.
func (r *Run) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Run) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return turn.Errorf(turn.Internal, "%v", err)
}

// user is the user that the i-th worker of a workload is: none where there are no users,
// else the visitor or the member. The workers of one API are both.
func (r *Run) user(i int) string {
	switch {
	case r.cluster.Security == nil:
		return ""
	case i%5 < 2:
		return cluster.Visitor
	}
	return cluster.Member
}

func (r *Run) newProcess() int { return int(r.processes.Add(1)) }

func (r *Run) token() string { return fmt.Sprintf("%s-%d", r.prefix, r.tokens.Add(1)) }

// pickNode returns a running node, preferably another than not. No workload would
// choose one that is down; one that hangs looks like any other.
func (r *Run) pickNode(random *rand.Rand, not *cluster.Node) *cluster.Node {
	nodes := r.cluster.Nodes
	start := random.IntN(len(nodes))
	for i := range nodes {
		if n := nodes[(start+i)%len(nodes)]; n != not && n.Running() {
			return n
		}
	}
	return not
}

// pace waits for the worker's next turn and reports whether there is one.
func (r *Run) pace(ctx context.Context, random *rand.Rand) bool {
	if r.interval == 0 {
		return ctx.Err() == nil
	}
	return sleep(ctx, time.Duration(random.Int64N(int64(2*r.interval))))
}

// rest waits for as long as the worker would have for so many calls more, had it made
// them one after the other.
func (r *Run) rest(ctx context.Context, calls int) { sleep(ctx, time.Duration(calls)*r.interval) }

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

// tokenPrefix keeps apart the tokens of runs on one cluster.
func tokenPrefix(seed uint64) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	r := rand.New(rand.NewPCG(seed, 11))
	b := make([]byte, 4)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
