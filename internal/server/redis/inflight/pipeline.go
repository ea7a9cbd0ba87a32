package inflight

import (
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Pipeline is what a connection receives before everything is answered: a pipeline of
// requests, as far as it can be told.
//
// A client that is told to try again may send its whole pipeline again, writes that
// took place included: redis-py and go-redis do. So a request is answered in that
// way only if no writes were pipelined with it.
type Pipeline struct {
	writes   int           // so far; a request that is not known to be none counts as one
	received atomic.Uint64 // writes of the connection, in all pipelines
	// more: another request was there when the last one was handled. It is set
	// after received, so that a reader that sees it false has every write of the pipeline
	// counted.
	more atomic.Bool
}

// Pipelined is what a request knows of the pipeline that it came in. Any goroutine may ask it.
type Pipelined struct {
	in     *Pipeline
	before bool   // writes came before it
	writes uint64 // how many the connection had received by then, its own included
}

// Note notes a request whose action is about to be performed: whether replies are owed to
// requests before it, and whether more has been received behind it.
func (p *Pipeline) Note(a command.Action, owing func() bool, more bool) Pipelined {
	if !p.more.Load() && !owing() {
		p.writes = 0
	}
	r := Pipelined{in: p, before: p.writes > 0}
	if command.MayWrite(a) {
		p.writes++
		p.received.Add(1)
	}
	r.writes = p.received.Load()
	p.more.Store(more)
	return r
}

// withWrites reports whether writes came before the request or may have come after
// it.
func (r Pipelined) withWrites() bool {
	return r.before || r.in.more.Load() || r.in.received.Load() != r.writes
}

// ErrorText is the text of an error. Where writes were pipelined with the request, it
// does not invite clients to send all of them again.
func (r Pipelined) ErrorText(err error, native bool) string {
	if turn.Is(err, turn.Unavailable) && !native && r.withWrites() {
		return command.NativeText(turn.AsError(err)) + "; this request changed nothing, others of the pipeline may have"
	}
	return command.ErrorText(err, native)
}
