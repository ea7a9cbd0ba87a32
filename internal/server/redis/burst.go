package redis

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/turn"
)

// burst is what a connection receives before everything is answered: a pipeline,
// as far as it can be told.
//
// A client that is told to try again may send its whole pipeline again, writes that
// took place included: redis-py and go-redis do. So a request is answered in that
// way only if it came without writes beside it.
type burst struct {
	writes   int           // so far; what is not known to be none counts as one
	received atomic.Uint64 // writes of the connection, in all bursts
	// more: another request was there when the last one was handled. It is set
	// after received, so that who sees it false has every write of the burst counted.
	more atomic.Bool
}

// beside is what a request knows of the burst it came in.
type beside struct {
	before bool   // writes came before it
	writes uint64 // how many the connection had received by then, its own included
}

// note notes a request that is about to start.
func (c *conn) note(a action) (b beside) {
	if !c.burst.more.Load() && !c.replies.owing() {
		c.burst.writes = 0
	}
	b.before = c.burst.writes > 0
	if a.op != nil || a.work != nil || a.publish != nil {
		c.burst.writes++
		c.burst.received.Add(1)
	}
	b.writes = c.burst.received.Load()
	c.burst.more.Store(c.unread())
	return b
}

// withWrites reports whether writes came before the request or may have come after
// it.
func (b beside) withWrites(c *conn) bool {
	return b.before || c.burst.more.Load() || c.burst.received.Load() != b.writes
}

// errorText is the text of an error. Where there are writes beside the request, it
// does not invite clients to send all of them again.
func (b beside) errorText(c *conn, err error, native bool) string {
	if turn.Is(err, turn.Unavailable) && !native && b.withWrites(c) {
		return nativeText(turn.AsError(err)) + "; this request changed nothing, others of the pipeline may have"
	}
	return errorText(err, native)
}
