package fsm

import (
	"container/heap"
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// waiters are goroutines that wait for an index to be applied, lowest first.
type waiters struct {
	mu   sync.Mutex
	heap waiterHeap
}

type waiter struct {
	index uint64
	place int // in the heap; -1: out of it
	done  chan struct{}
}

func (w *waiters) add(index uint64) *waiter {
	n := &waiter{index: index, done: make(chan struct{})}
	w.mu.Lock()
	heap.Push(&w.heap, n)
	w.mu.Unlock()
	return n
}

func (w *waiters) drop(n *waiter) {
	w.mu.Lock()
	if n.place >= 0 {
		heap.Remove(&w.heap, n.place)
	}
	w.mu.Unlock()
}

// wake ends the waits for an index ≤ applied.
func (w *waiters) wake(applied uint64) {
	w.mu.Lock()
	for len(w.heap) > 0 && w.heap[0].index <= applied {
		close(heap.Pop(&w.heap).(*waiter).done)
	}
	w.mu.Unlock()
}

func (w *waiters) wakeAll() { w.wake(^uint64(0)) }

type waiterHeap []*waiter

func (h waiterHeap) Len() int           { return len(h) }
func (h waiterHeap) Less(i, j int) bool { return h[i].index < h[j].index }
func (h waiterHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *waiterHeap) Push(x any) {
	n := x.(*waiter)
	n.place = len(*h)
	*h = append(*h, n)
}
func (h *waiterHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	n.place = -1
	return n
}

// watches tell the followers of a session that it changed.
type watches struct {
	// some is whether there are any: else notify takes no lock.
	some atomic.Bool

	mu    sync.Mutex
	byKey map[string]map[signal.Channel]struct{} // by joined key
}

// Watch returns a channel that gets a token after each applied change of the
// session; tokens that are not taken merge into one. stop ends it. A token may
// come without a change.
func (m *Machine) Watch(k turn.Key) (changed <-chan struct{}, stop func()) {
	w, key, ch := &m.keys.watches, layout.JoinKey(k), signal.New()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = make(map[string]map[signal.Channel]struct{})
	}
	if w.byKey[key] == nil {
		w.byKey[key] = make(map[signal.Channel]struct{})
	}
	w.byKey[key][ch] = struct{}{}
	w.some.Store(true)
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byKey[key], ch)
		if len(w.byKey[key]) == 0 {
			delete(w.byKey, key)
		}
		w.some.Store(len(w.byKey) > 0)
	}
}

// notify is called while mu is held: a watch that begins too late for it sees the
// change itself.
func (w *watches) notify(key string) {
	if !w.some.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.byKey[key] {
		ch.Notify()
	}
}

// notifyAll is for when everything may have changed.
func (w *watches) notifyAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chs := range w.byKey {
		for ch := range chs {
			ch.Notify()
		}
	}
}
