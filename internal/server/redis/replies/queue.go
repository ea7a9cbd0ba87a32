package replies

import (
	"runtime"
	"sync"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/signal"
)

// Owed is a reply that the connection owes.
type Owed struct {
	Ready <-chan struct{} // closed when Write need not wait for an outcome; nil: it need not
	Write command.Reply   // nil: the reply is the next gate among the pushes
	Bytes int             // of the request
}

// Queue writes the replies of one connection in order. While some are owed, a
// goroutine of its own writes them, and the Writer belongs to it; else the Writer
// belongs to the goroutine that reads requests, which calls the methods. On a
// connection that is shared with others, who push, it always belongs to the former.
type Queue struct {
	w        *resp.Writer
	maxCount int
	maxBytes int
	Shared   bool // read and written by the goroutine that reads requests, and by run

	mu      sync.Mutex
	changed sync.Cond // the queue got shorter, or running or writing became false
	queue   []Owed
	bytes   int  // of the requests in the queue
	running bool // there is a goroutine in run
	writing bool // it writes a reply that was owed

	pushes pushes
	wake   chan struct{} // cap 1: something was pushed
	held   bool          // pushes wait: see WithWriter
	row    int           // pushes written since the last reply
}

// New returns the queue of a connection that may owe so many replies, to requests of so many bytes.
func New(w *resp.Writer, maxCount, maxBytes int, budget *Budget) *Queue {
	q := &Queue{w: w, maxCount: maxCount, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
	q.pushes.budget = budget
	q.changed.L = &q.mu
	return q
}

// Put adds a reply after all that are owed. It waits while too much is owed.
func (q *Queue) Put(r Owed) {
	q.mu.Lock()
	for len(q.queue) > 0 && (len(q.queue) >= q.maxCount || q.bytes+r.Bytes > q.maxBytes) {
		q.changed.Wait()
	}
	if !q.running && !q.Shared && r.Ready == nil {
		q.mu.Unlock()
		r.Write(q.w)
		return
	}
	q.queue = append(q.queue, r)
	q.bytes += r.Bytes
	q.startLocked()
	q.mu.Unlock()
}

func (q *Queue) startLocked() {
	if !q.running {
		q.running = true
		go q.run()
	}
}

// Push adds a message after all that were pushed. Any goroutine may call it, on a
// shared connection. It reports false if there was no room: then nothing is pushed
// from now on, and the connection is to be closed.
func (q *Queue) Push(p Push) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.pushes.add(p) {
		return false
	}
	if q.running {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	} else if !q.held {
		q.startLocked()
	}
	return true
}

// Share makes room for pushes: from now on others write, too.
func (q *Queue) Share() {
	if !q.Shared {
		q.WithWriter(func(w *resp.Writer) { w.Flush() })
		q.Shared = true
	}
}

// WithWriter calls f with the Writer when everything owed is written. What is pushed
// meanwhile comes after it.
func (q *Queue) WithWriter(f func(w *resp.Writer)) {
	q.mu.Lock()
	q.held = true
	for q.running {
		q.changed.Wait()
	}
	q.mu.Unlock()
	f(q.w)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held = false; len(q.pushes.queue) > 0 {
		q.startLocked()
	}
}

// Settle waits until everything is written that was owed or pushed before.
func (q *Queue) Settle() {
	if q.Shared {
		q.Push(Push{Gate: true, Write: func(*resp.Writer) {}})
		q.Put(Owed{})
		q.Drain()
	}
}

// Close writes out everything owed and pushed. Nothing may be put after it, and
// what is pushed is lost.
func (q *Queue) Close() {
	q.mu.Lock()
	q.pushes.closed = true
	for q.running {
		q.changed.Wait()
	}
	q.mu.Unlock()
	q.w.Flush()
}

// Idle reports whether the Writer belongs to the goroutine that reads requests:
// nothing is owed.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.running && !q.Shared
}

// Owing reports whether a reply is owed.
func (q *Queue) Owing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0 || q.writing
}

// Drain waits until everything owed is written.
func (q *Queue) Drain() {
	q.mu.Lock()
	for len(q.queue) > 0 || q.writing {
		q.changed.Wait()
	}
	q.mu.Unlock()
}

// Flush writes out what has gathered, unless the goroutine in run will do it.
func (q *Queue) Flush() {
	if !q.Idle() {
		return
	}
	if q.w.Buffered() > 0 {
		// Other connections whose outcomes are there by now prepare their replies
		// first, so that all are sent one right after the other. Each client
		// would have to be woken by itself otherwise, which costs more than a read.
		runtime.Gosched()
	}
	q.w.Flush()
}

// run writes what is owed and what is pushed. It holds nothing back while it
// waits, neither for an outcome nor for new requests.
func (q *Queue) run() {
	for {
		r, ok := q.next()
		if !ok {
			return
		}
		if r.Ready != nil && !signal.Closed(r.Ready) {
			q.w.Flush()
		}
		r.Write(q.w)
	}
}

// next takes what is to be written next. When there is nothing and nothing
// gathered, the goroutine in run must end.
func (q *Queue) next() (Owed, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing {
		q.writing = false
		q.changed.Broadcast()
	}
	for flushed := false; ; flushed = true {
		if r, ok := q.takeLocked(); ok {
			return r, true
		}
		if len(q.queue) > 0 { // it is not ready
			ready := q.queue[0].Ready
			q.mu.Unlock()
			q.w.Flush()
			select {
			case <-ready:
			case <-q.wake:
			}
			q.mu.Lock()
			continue
		}
		if flushed {
			q.running = false
			q.changed.Broadcast()
			return Owed{}, false
		}
		q.mu.Unlock()
		q.w.Flush()
		q.mu.Lock()
	}
}

// maxRow is how many pushes in a row are written while a reply is ready.
const maxRow = 64

// takeLocked takes the first push or the first reply, but no push from behind a
// gate whose turn has not come.
func (q *Queue) takeLocked() (Owed, bool) {
	owing := len(q.queue) > 0
	gate := owing && q.queue[0].Write == nil
	if p := q.pushes.first(); p != nil && !p.Gate && !(q.held && !gate) {
		if gate || q.row < maxRow || !owing || !q.readyLocked() {
			q.row++
			return Owed{Write: q.pushes.take().Write}, true
		}
	}
	if !owing || !gate && !q.readyLocked() {
		return Owed{}, false
	}
	q.row = 0
	r := q.queue[0]
	q.queue[0] = Owed{}
	q.queue = q.queue[1:]
	q.bytes -= r.Bytes
	q.writing = true
	q.changed.Broadcast()
	if gate {
		r.Write = q.pushes.take().Write
	}
	return r, true
}

// readyLocked reports whether the first reply may be waited for: on a shared
// connection only if that takes no time, because pushes may come meanwhile.
func (q *Queue) readyLocked() bool {
	ready := q.queue[0].Ready
	return !q.Shared || ready == nil || signal.Closed(ready)
}
