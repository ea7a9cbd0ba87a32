package redis

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// pipeline is what a connection receives before everything is answered: a pipeline of
// requests, as far as it can be told.
//
// A client that is told to try again may send its whole pipeline again, writes that
// took place included: redis-py and go-redis do. So a request is answered in that
// way only if no writes were pipelined with it.
type pipeline struct {
	writes   int           // so far; a request that is not known to be none counts as one
	received atomic.Uint64 // writes of the connection, in all pipelines
	// more: another request was there when the last one was handled. It is set
	// after received, so that a reader that sees it false has every write of the pipeline
	// counted.
	more atomic.Bool
}

// pipelined is what a request knows of the pipeline that it came in.
type pipelined struct {
	before bool   // writes came before it
	writes uint64 // how many the connection had received by then, its own included
}

// note notes a request whose action is about to be performed.
func (c *conn) note(a command.Action) (b pipelined) {
	if !c.pipeline.more.Load() && !c.replies.Owing() {
		c.pipeline.writes = 0
	}
	b.before = c.pipeline.writes > 0
	if command.MayWrite(a) {
		c.pipeline.writes++
		c.pipeline.received.Add(1)
	}
	b.writes = c.pipeline.received.Load()
	c.pipeline.more.Store(c.unread())
	return b
}

// withWrites reports whether writes came before the request or may have come after
// it.
func (b pipelined) withWrites(c *conn) bool {
	return b.before || c.pipeline.more.Load() || c.pipeline.received.Load() != b.writes
}

// errorText is the text of an error. Where writes were pipelined with the request, it
// does not invite clients to send all of them again.
func (b pipelined) errorText(c *conn, err error, native bool) string {
	if turn.Is(err, turn.Unavailable) && !native && b.withWrites(c) {
		return command.NativeText(turn.AsError(err)) + "; this request changed nothing, others of the pipeline may have"
	}
	return command.ErrorText(err, native)
}
