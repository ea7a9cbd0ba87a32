package redis

import "github.com/turnlog/turnlog/turn"

// burst is what a connection receives before everything is answered: a pipeline,
// as far as it can be told.
//
// A client that is told to try again may send its whole pipeline again, writes that
// took place included: redis-py and go-redis do. So a request is answered in that
// way only if it came without writes beside it.
type burst struct {
	writes int  // so far; what is not known to be none counts as one
	more   bool // another request was there when the last one was handled
}

// beside is what a request knows of the burst it came in.
type beside struct {
	before bool   // writes came before it
	more   bool   // something was there behind it
	number uint64 // its place among the connection's requests
	writes uint64 // how many writes the connection had received by then, its own included
}

// note notes a request that is about to start.
func (c *conn) note(a action) (b beside) {
	if !c.burst.more && !c.replies.owing() {
		c.burst.writes = 0
	}
	c.burst.more = c.in.Buffered() > 0
	b.before, b.more, b.number = c.burst.writes > 0, c.burst.more, c.requests.Add(1)
	if a.op != nil || a.work != nil || a.publish != nil {
		c.burst.writes++
		c.writes.Add(1)
	}
	b.writes = c.writes.Load()
	return b
}

// withWrites reports whether writes came before the request or may have come after
// it.
func (b beside) withWrites(c *conn) bool {
	return b.before || b.more && c.requests.Load() == b.number || c.writes.Load() != b.writes
}

// errorText is the text of an error. Where there are writes beside the request, it
// does not invite clients to send all of them again.
func (b beside) errorText(c *conn, err error, native bool) string {
	if turn.Is(err, turn.Unavailable) && !native && b.withWrites(c) {
		return nativeText(turn.AsError(err)) + "; this request changed nothing, others of the pipeline may have"
	}
	return errorText(err, native)
}
