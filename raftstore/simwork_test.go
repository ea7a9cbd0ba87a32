package raftstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

// simWork is what workers do to a simulated cluster, and the record of it.
type simWork struct {
	*simCluster
	began time.Time

	mu       sync.Mutex
	ops      []history.Operation
	sessions []*simSession // in use
	retired  []*simSession
	token    int
	process  int
	acked    int
	unknown  int
	pairs    []simPair
}

// simSession is a session in use: one that only grows, one from which messages
// are removed, too, or one that expires.
type simSession struct {
	name     string
	removes  bool
	ttl      int64 // of each append, in milliseconds; 0: none
	calls    int
	unknown  int
	revision uint64 // as of the last answer
	last     uint64
}

const (
	simSessions = 4
	// A session is retired after so many calls, or calls without an answer if
	// messages are removed: it is judged by search then.
	simCalls, simUnknown = 50, 3
)

func newSimWork(c *simCluster) *simWork {
	w := &simWork{simCluster: c, began: time.Now()}
	for range simSessions {
		w.sessions = append(w.sessions, w.newSessionLocked())
	}
	return w
}

func (w *simWork) newSessionLocked() *simSession {
	w.token++
	s := &simSession{name: fmt.Sprint("s", w.token), removes: w.token%3 == 0}
	if w.skew == simExactSkew && w.token%3 == 1 {
		s.ttl = 500 * (1 + int64(w.token)%8)
	}
	return s
}

// pick returns a session for a call.
func (w *simWork) pick(rnd *rand.Rand) *simSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := rnd.IntN(len(w.sessions))
	s := w.sessions[i]
	if s.calls++; s.calls > simCalls || (s.removes || s.ttl > 0) && s.unknown >= simUnknown {
		w.retired = append(w.retired, s)
		s = w.newSessionLocked()
		w.sessions[i] = s
	}
	return s
}

// run makes one call after the other until ctx ends.
func (w *simWork) run(ctx context.Context, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	process := w.newProcess()
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rnd.Int64N(int64(120 * time.Millisecond))))
		s := w.pick(rnd)
		if rnd.IntN(12) == 0 {
			process = w.transact(rnd, s, process)
			continue
		}
		c := w.call(rnd, s)
		for attempt := 0; ; attempt++ {
			nodes := w.running()
			if len(nodes) == 0 {
				break
			}
			err := w.attempt(rnd, nodes[rnd.IntN(len(nodes))], s, c, process)
			if err == nil {
				break
			}
			again := turn.AsError(err).Retry()
			if turn.KindOf(err) == turn.Unknown {
				process = w.newProcess()
				again = true
			}
			// A write without ids stands in the history once; some are left open.
			if !again || attempt == 20 || c.Func.Writes() && !c.IDs || rnd.IntN(10) == 0 {
				break
			}
			time.Sleep(time.Duration(rnd.Int64N(int64(200 * time.Millisecond))))
		}
	}
}

func (w *simWork) newProcess() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process++
	return w.process
}

// call makes up a call.
func (w *simWork) call(rnd *rand.Rand, s *simSession) history.Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := history.Call{Func: history.Append, IDs: rnd.IntN(3) > 0, TTL: s.ttl}
	switch kind := rnd.IntN(10); {
	case kind < 4:
		return history.Call{Func: history.Read, Stale: !s.removes && s.ttl == 0 && rnd.IntN(4) == 0, TTL: s.ttl}
	case kind == 4 && s.removes:
		return history.Call{Func: history.Pop, N: 1 + rnd.Uint64N(3)}
	case kind == 5 && s.removes:
		return history.Call{Func: history.Trim, N: rnd.Uint64N(6)}
	case kind == 6 && s.removes && rnd.IntN(3) == 0:
		return history.Call{Func: history.Delete}
	case kind < 7 && s.ttl == 0:
		expect := s.revision
		c.Expect = &expect
	}
	for range 1 + rnd.IntN(3) {
		w.token++
		c.Values = append(c.Values, fmt.Sprint("v", w.token))
	}
	return c
}

// attempt makes a call once at a node, and records it.
func (w *simWork) attempt(rnd *rand.Rand, n *simNode, s *simSession, c history.Call, process int) error {
	limit := 8 * time.Second
	if rnd.IntN(20) == 0 {
		limit = time.Duration(1+rnd.IntN(400)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	i := w.invoke(n, s, c, process)
	r, err := simDo(ctx, n, turn.Key{Namespace: "0", Name: s.name}, c)
	w.settle(i, s, r, err)
	return err
}

func (w *simWork) invoke(n *simNode, s *simSession, c history.Call, process int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ops = append(w.ops, history.Operation{
		ID: int64(len(w.ops) + 1), Process: process, Node: n.id, API: "node", Session: "0/" + s.name, Call: c,
		Invoke: int64(time.Since(w.began)), Return: history.Forever, Outcome: history.Info,
	})
	return len(w.ops) - 1
}

func (w *simWork) settle(i int, s *simSession, r history.Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	op := &w.ops[i]
	op.End = int64(time.Since(w.began))
	if err == nil {
		op.Outcome, op.Result, op.Return = history.OK, r, op.End
		if op.Call.Func.Writes() {
			w.acked++
		}
		if r.Revision > s.revision {
			s.revision, s.last = r.Revision, r.Last
		}
		return
	}
	e := turn.AsError(err)
	op.Error = &history.Error{Code: e.Kind.String(), Message: err.Error(), Revision: e.Revision}
	if e.Kind != turn.Unknown {
		op.Outcome, op.Return = history.Fail, op.End
		if e.Kind == turn.Conflict {
			s.revision = e.Revision
		}
		return
	}
	s.unknown++
	w.unknown++
}

// simDo makes the call.
func simDo(ctx context.Context, n *simNode, key turn.Key, c history.Call) (history.Result, error) {
	var op turn.Op
	switch c.Func {
	case history.Read:
		return simRead(ctx, n, key, c)
	case history.Append:
		o := &turn.Append{Key: key, Expect: c.Expect, TTL: c.TTL}
		for _, v := range c.Values {
			m := turn.NewMessage{Data: []byte(v)}
			if c.IDs {
				m.ID = v
			}
			o.Messages = append(o.Messages, m)
		}
		op = o
	case history.Pop:
		op = &turn.Pop{Key: key, From: turn.Newest, Count: c.N}
	case history.Trim:
		op = &turn.Trim{Key: key, By: turn.KeepLast, N: c.N}
	case history.Delete:
		op = &turn.Delete{Keys: []turn.Key{key}}
	default:
		return history.Result{}, fmt.Errorf("no way to %s", c.Func)
	}
	r, err := n.Apply(ctx, op)
	if err != nil {
		return history.Result{}, err
	}
	out := history.Result{First: r.First, Last: r.Last, Revision: r.Revision, Count: r.Count, Removed: r.Removed,
		Duplicate: r.Duplicate}
	switch c.Func {
	case history.Pop:
		out = history.Result{Messages: simMessages(r.Messages)}
	case history.Delete:
		out = history.Result{Removed: r.Removed}
	}
	return out, nil
}

func simRead(ctx context.Context, n *simNode, key turn.Key, c history.Call) (history.Result, error) {
	level := turn.Consistency{}
	if c.Stale {
		level.Level = turn.Stale
	}
	r, err := n.Query(ctx, &turn.Read{Key: key}, level)
	if err != nil || r.Session == nil {
		return history.Result{}, err
	}
	return history.Result{Last: r.Last, Revision: r.Revision, Count: r.Count, Incarnation: r.Session.Incarnation,
		More: r.More, Messages: simMessages(r.Messages)}, nil
}

func simMessages(ms []turn.Message) []history.Message {
	out := make([]history.Message, len(ms))
	for i, m := range ms {
		out[i] = history.Message{Seq: m.Seq, Value: string(m.Data)}
	}
	return out
}

// readAll reads every session whole, linearizably at one node and from its own
// state at each other.
func (w *simWork) readAll() {
	w.t.Helper()
	process := w.newProcess()
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, s := range append(w.retired, w.sessions...) {
		for i, n := range w.running() {
			c := history.Call{Func: history.Read, Final: true, Stale: i > 0}
			w.within(30*time.Second, "the last read of "+s.name+" at "+n.id, func() bool {
				return w.attempt(rnd, n, s, c, process) == nil
			})
		}
	}
}
