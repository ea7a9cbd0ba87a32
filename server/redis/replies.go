package redis

import (
	"sync"

	"github.com/turnlog/turnlog/resp"
)

// owed is a reply that the connection owes.
type owed struct {
	ready <-chan struct{} // closed when write need not wait for an outcome; nil: it need not
	write reply
	bytes int // of the request
}

// replies writes the replies of one connection in order. While some are owed, a
// goroutine of its own writes them, and the Writer belongs to it; else the Writer
// belongs to the goroutine that reads requests, which calls the methods.
type replies struct {
	w        *resp.Writer
	maxCount int
	maxBytes int

	mu      sync.Mutex
	changed sync.Cond // the queue got shorter, or running became false
	queue   []owed
	bytes   int  // of the requests in the queue
	running bool // there is a goroutine in run
}

func newReplies(w *resp.Writer, maxCount, maxBytes int) *replies {
	q := &replies{w: w, maxCount: maxCount, maxBytes: maxBytes}
	q.changed.L = &q.mu
	return q
}

// put adds a reply after all that are owed. It waits while too much is owed.
func (q *replies) put(r owed) {
	q.mu.Lock()
	for len(q.queue) > 0 && (len(q.queue) >= q.maxCount || q.bytes+r.bytes > q.maxBytes) {
		q.changed.Wait()
	}
	if !q.running && r.ready == nil {
		q.mu.Unlock()
		r.write(q.w)
		return
	}
	q.queue = append(q.queue, r)
	q.bytes += r.bytes
	if !q.running {
		q.running = true
		go q.run()
	}
	q.mu.Unlock()
}

// idle reports whether nothing is owed.
func (q *replies) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.running
}

// drain waits until everything owed is written out.
func (q *replies) drain() {
	q.mu.Lock()
	for q.running {
		q.changed.Wait()
	}
	q.mu.Unlock()
}

// flush writes out what has gathered, unless the goroutine in run will do it.
func (q *replies) flush() {
	if q.idle() {
		q.w.Flush()
	}
}

// run writes what is owed. It holds nothing back while it waits, neither for an
// outcome nor for new requests.
func (q *replies) run() {
	for {
		r, ok := q.next()
		if !ok {
			return
		}
		if r.ready != nil && !closed(r.ready) {
			q.w.Flush()
		}
		r.write(q.w)
	}
}

// next takes the first reply. When there is none and nothing gathered, the
// goroutine in run must end.
func (q *replies) next() (owed, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.mu.Unlock()
		q.w.Flush()
		q.mu.Lock()
	}
	if len(q.queue) == 0 {
		q.running = false
		q.changed.Broadcast()
		return owed{}, false
	}
	r := q.queue[0]
	q.queue[0] = owed{}
	q.queue = q.queue[1:]
	q.bytes -= r.bytes
	q.changed.Broadcast()
	return r, true
}
