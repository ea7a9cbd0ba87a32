package redis

import (
	"errors"
	"strings"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// turnTrace is TURN.TRACE. A transaction is one request: MULTI, and what is queued behind it, leave the trace to EXEC.
func turnTrace(c *conn, args [][]byte) command.Action {
	parent, ok := trace.Parse(string(args[1]))
	if !ok {
		return command.Error("ERR not a traceparent of the W3C's Trace Context")
	}
	c.parent = parent
	return command.Status("OK")
}

// trace begins the span of a request, if it is to be recorded, and has what is asked of the engine for it belong to
// that span. What needs no engine, and what waits for other clients by its nature, has no span.
func (c *conn) trace(b *call, a command.Action) {
	c.asking = c.srv.work
	if b.cmd == nil || b.cmd.Name == "turn.trace" || c.tx.Open() {
		return
	}
	parent := c.parent
	c.parent = trace.Context{}
	switch a.(type) {
	case *command.Write, *command.Read, *command.Work, *command.Publish:
	case command.Error:
		if !parent.Valid() {
			return
		}
	default:
		return
	}
	name := strings.ToUpper(strings.ReplaceAll(b.cmd.Name, "|", " "))
	if b.span = c.srv.cfg.Tracer.Begin(parent, trace.Server, name); b.span == nil {
		return
	}
	b.span.Set(trace.Text("db.system.name", "turnlog"), trace.Text("db.operation.name", name),
		trace.Text("db.namespace", c.namespace))
	c.asking = trace.With(c.srv.work, b.span)
}

// endSpan ends the span of a request with its outcome.
func (b *call) endSpan(err error) {
	if b.span == nil {
		return
	}
	if err != nil {
		b.span.Fail(errorType(err))
	}
	b.span.End()
}

// errorType returns the kind of an error, which tells nothing of the request.
func errorType(err error) string {
	var e *turn.Error
	if errors.As(err, &e) {
		return e.Kind.String()
	}
	kind, _, _ := strings.Cut(err.Error(), " ")
	return kind
}
