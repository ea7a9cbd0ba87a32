package redis

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// pushed is a message that answers no request; or, as a gate, the answer to one
// that has its place among them: it is written when the replies to all earlier
// requests are, and those behind it wait for it.
type pushed struct {
	write command.Reply
	gate  bool
	bytes int // as its receiver is charged for it
	// share is the memory that it takes: several receivers share a message.
	share int64
}

// pushes are the messages that wait to be written to one connection.
type pushes struct {
	budget *pushBudget
	queue  []pushed
	bytes  int
	closed bool // messages are lost
}

// pushBudget bounds the messages that wait, of each connection and of all.
type pushBudget struct {
	each int   // bytes that may wait for one connection
	all  int64 // memory of all together; beyond it, a connection may have small left
	used atomic.Int64
}

// small is what may wait for a connection however much waits for others.
const small = 1 << 20

// add reports whether there was room. If not, everything that waits is dropped.
func (q *pushes) add(p pushed) bool {
	if q.closed && !p.gate {
		return true // it is closing already
	}
	used := q.budget.used.Add(p.share)
	full := q.bytes > 0 && (q.bytes+p.bytes > q.budget.each || used > q.budget.all && q.bytes+p.bytes > small)
	if full && !p.gate {
		q.budget.used.Add(-p.share)
		q.drop()
		return false
	}
	q.queue = append(q.queue, p)
	q.bytes += p.bytes
	return true
}

func (q *pushes) first() *pushed {
	if len(q.queue) == 0 {
		return nil
	}
	return &q.queue[0]
}

func (q *pushes) take() pushed {
	p := q.queue[0]
	q.queue[0] = pushed{}
	q.queue = q.queue[1:]
	q.bytes -= p.bytes
	q.budget.used.Add(-p.share)
	return p
}

// drop forgets what waits, but for the gates: requests wait for them.
func (q *pushes) drop() {
	q.closed = true
	left := q.queue[:0]
	for _, p := range q.queue {
		if p.gate {
			left = append(left, p)
			continue
		}
		q.bytes -= p.bytes
		q.budget.used.Add(-p.share)
	}
	clear(q.queue[len(left):])
	q.queue = left
}
