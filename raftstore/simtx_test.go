package raftstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/turn"
)

const (
	// simExactSkew is how wrong clocks are in a cluster whose sessions expire.
	simExactSkew = 40 * time.Millisecond
	// simExpired is after how long all of them have expired.
	simExpired = 12 * time.Second
)

// exact reports whether the clocks of a cluster are nearly right, so that deadlines can be
// judged.
func (c *simCluster) exact(seed uint64) bool { return seed%2 == 1 }

// simPair is what a transaction appends to two sessions: both or neither.
type simPair struct {
	sessions [2]*simSession
	values   [2]string
}

// transact appends to two sessions in one transaction, again if the outcome is unknown. It
// returns the process that goes on.
func (w *simWork) transact(rnd *rand.Rand, s *simSession, process int) int {
	o := w.pick(rnd)
	if s == o || s.removes || o.removes || s.ttl > 0 || o.ttl > 0 {
		return process
	}
	w.mu.Lock()
	p := simPair{sessions: [2]*simSession{s, o}}
	var calls [2]history.Call
	for i := range p.values {
		w.token++
		p.values[i] = fmt.Sprint("v", w.token)
		calls[i] = history.Call{Func: history.Append, IDs: true, Values: p.values[i : i+1 : i+1]}
	}
	w.pairs = append(w.pairs, p)
	w.mu.Unlock()
	for range 10 {
		nodes := w.running()
		if len(nodes) == 0 {
			break
		}
		err := w.attemptPair(nodes[rnd.IntN(len(nodes))], p, calls, process)
		if err == nil || rnd.IntN(10) == 0 {
			break
		}
		if turn.KindOf(err) == turn.Unknown {
			process = w.newProcess()
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(200 * time.Millisecond))))
	}
	return process
}

func (w *simWork) attemptPair(n *simNode, p simPair, calls [2]history.Call, process int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	tx, places := &turn.Tx{}, [2]int{}
	for i, c := range calls {
		key := turn.Key{Namespace: "0", Name: p.sessions[i].name}
		tx.Steps = append(tx.Steps, turn.Step{Op: &turn.Append{Key: key,
			Messages: []turn.NewMessage{{ID: c.Values[0], Data: []byte(c.Values[0])}}}})
		places[i] = w.invoke(n, p.sessions[i], c, process)
	}
	r, err := n.Apply(ctx, tx)
	for i, place := range places {
		if err != nil {
			w.settle(place, p.sessions[i], history.Result{}, err)
			continue
		}
		step := &r.Steps[i]
		var failed error
		if step.Err != nil {
			failed = step.Err
		}
		o := &step.Result
		w.settle(place, p.sessions[i],
			history.Result{First: o.First, Last: o.Last, Revision: o.Revision, Count: o.Count, Duplicate: o.Duplicate},
			failed)
	}
	return err
}

// checkPairs fails the test if in the end a transaction took place in one session only.
func (w *simWork) checkPairs() {
	w.t.Helper()
	there := make(map[string]bool)
	for i := range w.ops {
		if op := &w.ops[i]; op.Call.Final && op.Outcome == history.OK {
			for _, m := range op.Result.Messages {
				there[m.Value] = true
			}
		}
	}
	for _, p := range w.pairs {
		if there[p.values[0]] != there[p.values[1]] {
			w.t.Errorf("a transaction on %s and %s took place in part: %s %v, %s %v", p.sessions[0].name,
				p.sessions[1].name,
				p.values[0], there[p.values[0]], p.values[1], there[p.values[1]])
		}
	}
}
