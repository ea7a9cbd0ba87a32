package fsm

import (
	"container/heap"
	"sync"
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
