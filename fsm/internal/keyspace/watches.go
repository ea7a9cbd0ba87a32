package keyspace

import (
	"sync"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/signal"
)

// watches tell the followers of a session that it changed.
type watches struct {
	// some is whether there are any: else notify takes no lock.
	some atomic.Bool

	mu    sync.Mutex
	byKey map[string]map[signal.Channel]struct{} // by joined key
}

// Watch returns a channel that gets a token after each change of a key, given as joined; tokens that
// are not taken merge into one. stop ends it. Any goroutine may call both.
func (w *watches) Watch(key string) (changed <-chan struct{}, stop func()) {
	ch := signal.New()
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

// NotifyAll is for when everything may have changed.
func (w *watches) NotifyAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chs := range w.byKey {
		for ch := range chs {
			ch.Notify()
		}
	}
}

// Watched reports whether there are watches.
func (w *watches) Watched() bool { return w.some.Load() }
