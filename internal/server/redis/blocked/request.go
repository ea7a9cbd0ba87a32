package blocked

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/signal"
)

// Request is the request that blocks its connection, if one does; make it with New. CLIENT LIST
// shows whether it waits, and CLIENT UNBLOCK ends its wait. Between its waits it looks whether it
// has what it waits for; requests about it are answered when that is known, as in Redis, where it
// takes no time. Any goroutine may call its methods.
type Request struct {
	mu      sync.Mutex
	changed sync.Cond
	begun   func(command string)
	command string   // of the request; empty: there is none
	waited  bool     // it waits, or has
	held    bool     // something is taken for it, perhaps by another request: see waitqueue.Queues
	now     *waiting // nil: it does not wait now
}

type waiting struct {
	cancel  context.CancelFunc
	ended   bool // by CLIENT UNBLOCK
	refusal error
}

// New returns a Request of a connection that none blocks. begun is called with the command of each
// request that begins to wait, by the goroutine that waits.
func New(begun func(command string)) *Request {
	b := &Request{begun: begun}
	b.changed.L = &b.mu
	return b
}

// Begin says that a request has begun that may block the connection.
func (b *Request) Begin(command string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.command = command
}

// Finish says that it has ended. It returns its command, and reports whether it has waited.
func (b *Request) Finish() (command string, waited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	command, waited = b.command, b.waited
	b.command, b.waited, b.held, b.now = "", false, false, nil
	b.changed.Broadcast()
	return command, waited
}

// WaitAtMost waits at most d for a change or for the end of gone. If it is ended by CLIENT
// UNBLOCK, it returns an error, or sets until to zero, a time that is over.
func (b *Request) WaitAtMost(gone context.Context, changed <-chan struct{}, d time.Duration, until *time.Time) error {
	ctx, cancel := context.WithCancel(gone)
	defer cancel()
	w := &waiting{cancel: cancel}
	if command, first := b.wait(w); first {
		b.begun(command)
	}
	if d > 0 {
		signal.Wait(ctx, changed, d)
	}
	b.look()
	if w.ended {
		*until = time.Time{}
	}
	return w.refusal
}

// wait returns the command of the request, and reports whether it waits for the first time.
func (b *Request) wait(w *waiting) (command string, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first = !b.waited
	b.now, b.waited = w, true
	b.changed.Broadcast()
	return b.command, first
}

// look says that the wait is over, and that it is not known yet whether there will be
// another.
func (b *Request) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = nil
}

// Waits reports whether the request waits.
func (b *Request) Waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited
}

// Hold keeps the wait from being ended until Release, because something is being taken
// for the request. It reports false if it has been ended.
func (b *Request) Hold() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = b.now == nil || !b.now.ended
	return b.held
}

// Release undoes Hold.
func (b *Request) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	b.changed.Broadcast()
}

// End ends the wait, as its time would, or with an error. It reports whether there was
// one. While that is not known it waits.
func (b *Request) End(refusal error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.command != "" {
		switch {
		case b.now == nil || b.held:
			b.changed.Wait()
		case b.now.ended:
			return false
		default:
			b.now.ended, b.now.refusal = true, refusal
			b.now.cancel()
			return true
		}
	}
	return false
}
