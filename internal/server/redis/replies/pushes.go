package replies

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// Push is a message that answers no request; or, as a gate, the answer to one
// that has its place among them: it is written when the replies to all earlier
// requests are, and those behind it wait for it.
type Push struct {
	Write command.Reply
	Gate  bool
	Bytes int // as its receiver is charged for it
	// Share is the memory that it takes: several receivers share a message.
	Share int64
}

// pushes are the messages that wait to be written to one connection.
type pushes struct {
	budget *Budget
	queue  []Push
	bytes  int
	closed bool // messages are lost
}

// Budget bounds the messages that wait, of each connection and of all.
type Budget struct {
	Each int   // bytes that may wait for one connection
	All  int64 // memory of all together; beyond it, a connection may have Small left
	Used atomic.Int64
}

// Small is what may wait for a connection however much waits for others.
const Small = 1 << 20

// add reports whether there was room. If not, everything that waits is dropped.
func (q *pushes) add(p Push) bool {
	if q.closed && !p.Gate {
		return true // it is closing already
	}
	used := q.budget.Used.Add(p.Share)
	full := q.bytes > 0 && (q.bytes+p.Bytes > q.budget.Each || used > q.budget.All && q.bytes+p.Bytes > Small)
	if full && !p.Gate {
		q.budget.Used.Add(-p.Share)
		q.drop()
		return false
	}
	q.queue = append(q.queue, p)
	q.bytes += p.Bytes
	return true
}

func (q *pushes) first() *Push {
	if len(q.queue) == 0 {
		return nil
	}
	return &q.queue[0]
}

func (q *pushes) take() Push {
	p := q.queue[0]
	q.queue[0] = Push{}
	q.queue = q.queue[1:]
	q.bytes -= p.Bytes
	q.budget.Used.Add(-p.Share)
	return p
}

// drop forgets what waits, but for the gates: requests wait for them.
func (q *pushes) drop() {
	q.closed = true
	left := q.queue[:0]
	for _, p := range q.queue {
		if p.Gate {
			left = append(left, p)
			continue
		}
		q.bytes -= p.Bytes
		q.budget.Used.Add(-p.Share)
	}
	clear(q.queue[len(left):])
	q.queue = left
}
