// Package waitqueue has the requests of a node that wait for elements of lists, as BLPOP does, in the order in which
// they came. The first one takes for those behind it, too, so that one log entry serves all of them, in order.
//
// The order holds among the clients of one node. The package knows neither connections nor what the requests take.
package waitqueue

import (
	"slices"
	"sync"

	"github.com/turnlog/turnlog/turn"
)

// Queues are the requests of this node that wait for lists. Those that wait for one list
// are served in the order in which they came; one that waits for several lists has a
// place in the queue of each.
//
// The first in a queue takes for those behind it, too, as far as the list reaches: one
// log entry serves them all, in their order. Any goroutine may call the methods. The zero Queues have
// no requests.
type Queues struct {
	mu    sync.Mutex
	byKey map[turn.Key][]*Waiter
}

// Request is what may wait in a queue. Other requests' goroutines call it, too.
type Request interface {
	// Op is the operation that takes for it from the first of the keys that holds a list.
	Op(keys []turn.Key) turn.Op
	// Refused is why its user may take nothing any more; nil: it may.
	Refused() error
	// Hold keeps its wait from being ended until Release. It reports false if it has been ended.
	Hold() bool
	Release()
}

// Waiter is a request in a queue. The fields do not change after Join.
type Waiter struct {
	Request
	Keys []turn.Key
	// Look: there may be something to do for the request. cap 1.
	Look chan struct{}

	claimed bool // a request takes for it
	taken   *Taken
}

// Taken is what became of an operation that takes from one of several lists.
type Taken struct {
	Keys   []turn.Key
	Result turn.Result
	Err    error
}

// maxServed bounds how many requests one log entry serves.
const maxServed = 32

// Join puts w into the queues of its keys.
func (l *Queues) Join(w *Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[turn.Key][]*Waiter)
	}
	for _, k := range w.Keys {
		l.byKey[k] = append(l.byKey[k], w)
	}
}

// Leave takes w out of all queues.
func (l *Queues) Leave(w *Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked(w)
}

func (l *Queues) leaveLocked(w *Waiter) {
	for _, k := range w.Keys {
		queue := slices.DeleteFunc(l.byKey[k], func(x *Waiter) bool { return x == w })
		if l.byKey[k] = queue; len(queue) == 0 {
			delete(l.byKey, k)
			continue
		}
		queue[0].wake()
	}
}

func (w *Waiter) wake() {
	select {
	case w.Look <- struct{}{}:
	default:
	}
}

// First returns those of the keys in whose queues w is the first.
func (l *Queues) First(w *Waiter, keys []turn.Key) (first []turn.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		if queue := l.byKey[k]; len(queue) > 0 && queue[0] == w {
			first = append(first, k)
		}
	}
	return first
}

// Claim returns w and those behind it in the queue of the first of the keys, n altogether
// at most, for w to take for them. It returns none if w is not the first there, or if
// another takes for it.
func (l *Queues) Claim(w *Waiter, keys []turn.Key, n uint64) (served []*Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	queue := l.byKey[keys[0]]
	if len(queue) == 0 || queue[0] != w || w.claimed {
		return nil
	}
	for _, x := range queue {
		if x.claimed || uint64(len(served)) == min(n, maxServed) {
			break
		}
		if x == w || x.Hold() {
			x.claimed = true
			served = append(served, x)
		}
	}
	return served
}

// TakeFor takes from the first of the keys for all claimed waiters, in their order and in
// one log entry; for the first waiter also from its other keys. do performs an operation.
// TakeFor returns that entry.
func (l *Queues) TakeFor(served []*Waiter, keys []turn.Key, do func(turn.Op) (turn.Result, error)) (index uint64) {
	outs := make([]Taken, len(served))
	var ops []turn.Op
	var allowed []*Taken
	for i, w := range served {
		out := &outs[i]
		if i == 1 {
			keys = keys[:1]
		}
		if out.Err = w.Refused(); out.Err != nil {
			continue
		}
		out.Keys = keys
		ops, allowed = append(ops, w.Op(keys)), append(allowed, out)
	}
	if len(ops) > 0 {
		index = together(ops, allowed, do)
	}
	l.settle(served, outs)
	return index
}

// together performs operations in one log entry.
func together(ops []turn.Op, outs []*Taken, do func(turn.Op) (turn.Result, error)) (index uint64) {
	if len(ops) == 1 {
		outs[0].Result, outs[0].Err = do(ops[0])
		return outs[0].Result.Index
	}
	tx := new(turn.Tx)
	for _, op := range ops {
		tx.Steps = append(tx.Steps, turn.Step{Op: op})
	}
	r, err := do(tx)
	for i, out := range outs {
		if err != nil {
			out.Err = err
			continue
		}
		if out.Result = r.Steps[i].Result; r.Steps[i].Err != nil {
			out.Err = r.Steps[i].Err
		}
	}
	return r.Index
}

// settle stores the outcome of each claimed waiter. Waiters that got something leave their
// queues.
func (l *Queues) settle(served []*Waiter, outs []Taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range served {
		w.claimed = false
		if out := &outs[i]; out.Err != nil || out.Result.Found {
			w.taken = out
			l.leaveLocked(w)
		} else {
			w.Release()
		}
		w.wake()
	}
}

// Outcome returns what was taken for w, nil if nothing was. It waits while another
// request is about to take for w. With withdraw, no request takes for w afterwards.
func (l *Queues) Outcome(w *Waiter, withdraw bool) *Taken {
	for {
		l.mu.Lock()
		claimed, out := w.claimed, w.taken
		if !claimed && withdraw {
			l.leaveLocked(w)
		}
		l.mu.Unlock()
		if !claimed {
			return out
		}
		<-w.Look
	}
}
