package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

const (
	callTimeout  = 6 * time.Second // an election and the server's own waiting included
	maxAttempts  = 40
	moveEvery    = 50 // calls, after which a worker goes to another node
	shortTimeout = 0.03
)

// worker makes one call after the other.
type worker struct {
	run      *Run
	workload *Workload
	pool     *pool
	rand     *rand.Rand
	apiName  string
	user     string // "" where there are none

	node    *cluster.Node
	api     API
	process int // of the history; a new one after each call without an answer
	calls   int
	written int // acknowledged writes

	// For workloads that read before they write.
	hasRead  bool
	revision uint64 // of the session when the worker last read it
	repeats  []repeat
}

// move goes on at another node, if there is one.
func (w *worker) move() {
	w.api.Close()
	w.node = w.run.pickNode(w.rand, w.node)
	w.api = w.open()
}

func (w *worker) open() API { return open(w.apiName, w.run.cluster, w.node, w.user) }

// do makes a call until it is settled, as far as that is safe: a write that may
// have taken place is repeated only under ids.
func (w *worker) do(ctx context.Context, s *Session, c history.Call) {
	pause := 10 * time.Millisecond
	for range maxAttempts {
		err := w.attempt(ctx, s, &c)
		if err == nil {
			return
		}
		kind := turn.KindOf(err)
		if kind == turn.Unknown && (!c.IDs || w.rand.IntN(10) == 0) {
			return // some are left open for ever
		}
		once := !c.IDs && c.Func.Writes() // a history has each value in one call, unless it has ids
		if kind != turn.Unknown && (once || !turn.AsError(err).Retry()) {
			return
		}
		w.move()
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// attempt makes a call once, and records it. A call that has begun is not given
// up when ctx ends, but by its own time limit.
func (w *worker) attempt(ctx context.Context, s *Session, c *history.Call) error {
	var limit time.Duration
	limit, c.Hasty = w.limit()
	c.User = w.user
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	op, err := w.run.rec.Invoke(w.process, w.node.ID, w.apiName, s.Name(), *c)
	if err != nil {
		return w.run.fail(err)
	}
	r, err := w.api.Do(callCtx, s.Key, c)
	if err = w.settle(w.process, op, s, c, &r, err); turn.Is(err, turn.Unknown) {
		w.process = w.run.newProcess()
		if !c.Func.Writes() {
			err = turn.Errorf(turn.Unavailable, "%v", err) // a read can always be repeated
		}
	}
	return err
}

// limit is how long the next call may take, and whether that is less than an election.
func (w *worker) limit() (limit time.Duration, hasty bool) {
	if w.rand.Float64() < shortTimeout {
		return time.Duration(1+w.rand.IntN(300)) * time.Millisecond, true
	}
	return callTimeout, false
}

// settle records how a call ended, and returns its error.
func (w *worker) settle(process int, op int64, s *Session, c *history.Call, r *history.Result, err error) error {
	if err == nil {
		w.run.rec.Return(process, op, history.OK, r, nil)
		w.run.counters.ok(c, r, s)
		w.note(c, r)
		s.answered(c, r)
		return nil
	}
	e := turn.AsError(err)
	var said *answered
	record := &history.Error{Code: e.Kind.String(), Message: err.Error(), Revision: e.Revision,
		Answered: errors.As(err, &said)}
	w.run.counters.failed(c, e.Kind)
	if e.Kind != turn.Unknown {
		w.run.rec.Return(process, op, history.Fail, nil, record)
		if e.Kind == turn.Conflict {
			s.conflicted(e.Revision)
		}
		return err
	}
	w.run.rec.Return(process, op, history.Info, nil, record)
	if c.Func.Writes() {
		s.mu.Lock()
		s.unknown++
		s.mu.Unlock()
	}
	return err
}

func (w *worker) note(c *history.Call, r *history.Result) {
	if c.Func.Writes() {
		w.written++
	} else {
		w.revision = r.Revision
	}
}
