package command

import (
	"context"
	"slices"
	"sync"

	"github.com/turnlog/turnlog/turn"
)

// waitQueues are the requests of this node that wait for lists. Those that wait for one list
// are served in the order in which they came; one that waits for several lists has a
// place in the queue of each.
//
// The first in a queue takes for those behind it, too, as far as the list reaches: one
// log entry serves them all, in their order.
type waitQueues struct {
	mu    sync.Mutex
	byKey map[turn.Key][]*waiter
}

// waiter is a request in a queue.
type waiter struct {
	*taking
	// look: there may be something to do for the request. cap 1.
	look    chan struct{}
	claimed bool // a request takes for it
	taken   *taken
}

// taken is what became of an operation that takes from one of several lists.
type taken struct {
	keys   []turn.Key
	result turn.Result
	err    error
}

// maxServed bounds how many requests one log entry serves.
const maxServed = 32

func (l *waitQueues) join(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = make(map[turn.Key][]*waiter)
	}
	for _, k := range w.keys {
		l.byKey[k] = append(l.byKey[k], w)
	}
}

// leave takes w out of all queues.
func (l *waitQueues) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked(w)
}

func (l *waitQueues) leaveLocked(w *waiter) {
	for _, k := range w.keys {
		queue := slices.DeleteFunc(l.byKey[k], func(x *waiter) bool { return x == w })
		if l.byKey[k] = queue; len(queue) == 0 {
			delete(l.byKey, k)
			continue
		}
		queue[0].wake()
	}
}

func (w *waiter) wake() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}

// first returns those of the keys in whose queues w is the first.
func (l *waitQueues) first(w *waiter, keys []turn.Key) (first []turn.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		if queue := l.byKey[k]; len(queue) > 0 && queue[0] == w {
			first = append(first, k)
		}
	}
	return first
}

// claim returns w and those behind it in the queue of the first of the keys, n altogether
// at most, for w to take for them. It returns none if w is not the first there, or if
// another takes for it.
func (l *waitQueues) claim(w *waiter, keys []turn.Key, n uint64) (served []*waiter) {
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
		if x == w || x.req.Client.Gone().Err() == nil && x.req.Client.Hold() {
			x.claimed = true
			served = append(served, x)
		}
	}
	return served
}

// takeFor takes from the first of the keys for all claimed waiters, in their order and in
// one log entry; for the first waiter also from its other keys. It returns that entry.
func (b *Backend) takeFor(ctx context.Context, served []*waiter, keys []turn.Key) (index uint64) {
	outs := make([]taken, len(served))
	var ops []turn.Op
	var allowed []*taken
	for i, w := range served {
		out := &outs[i]
		if i == 1 {
			keys = keys[:1]
		}
		if refusal := w.refused(); refusal != "" {
			out.err = refusal
			continue
		}
		out.keys = keys
		ops, allowed = append(ops, w.op(keys)), append(allowed, out)
	}
	if len(ops) > 0 {
		index = b.together(ctx, ops, allowed)
	}
	b.queues.settle(served, outs)
	return index
}

// together performs operations in one log entry.
func (b *Backend) together(ctx context.Context, ops []turn.Op, outs []*taken) (index uint64) {
	if len(ops) == 1 {
		outs[0].result, outs[0].err = b.engine.Submit(ctx, ops[0]).Wait()
		return outs[0].result.Index
	}
	tx := new(turn.Tx)
	for _, op := range ops {
		tx.Steps = append(tx.Steps, turn.Step{Op: op})
	}
	r, err := b.engine.Submit(ctx, tx).Wait()
	for i, out := range outs {
		if err != nil {
			out.err = err
			continue
		}
		if out.result = r.Steps[i].Result; r.Steps[i].Err != nil {
			out.err = r.Steps[i].Err
		}
	}
	return r.Index
}

// settle stores the outcome of each claimed waiter. Waiters that got something leave their
// queues.
func (l *waitQueues) settle(served []*waiter, outs []taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range served {
		w.claimed = false
		if out := &outs[i]; out.err != nil || out.result.Found {
			w.taken = out
			l.leaveLocked(w)
		} else {
			w.req.Client.Release()
		}
		w.wake()
	}
}

// outcome returns what was taken for w, nil if nothing was. It waits while another
// request is about to take for w. With withdraw, no request takes for w afterwards.
func (l *waitQueues) outcome(w *waiter, withdraw bool) *taken {
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
		<-w.look
	}
}
