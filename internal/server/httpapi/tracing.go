package httpapi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// trace begins the span of a request, if it is to be recorded, and has what is asked of the engine for it belong to
// that span. Probes and metrics have no span, nor has a tail, which waits for others by its nature.
func (c *call) trace(t target) {
	tracer := c.server.cfg.Tracer
	if tracer == nil || !strings.HasPrefix(t.route.pattern, "/v1/") || strings.HasSuffix(t.route.pattern, "/stream") {
		return
	}
	var parent trace.Context
	if parents := c.request.Header[traceHeader]; len(parents) == 1 {
		parent, _ = trace.Parse(parents[0])
	}
	if c.span = tracer.Begin(parent, trace.Server, t.route.method+" "+t.route.pattern); c.span == nil {
		return
	}
	c.span.Set(trace.Text("db.system.name", "turnlog"), trace.Text("http.request.method", t.route.method),
		trace.Text("http.route", t.route.pattern))
	c.ctx = trace.With(c.ctx, c.span)
}

// endSpan ends the span of a request with its outcome.
func (c *call) endSpan(status int, err error) {
	if c.span == nil {
		return
	}
	c.span.Set(trace.Number("http.response.status_code", uint64(status)))
	if c.namespace != "" {
		c.span.Set(trace.Text("db.namespace", c.namespace))
	}
	var e *turn.Error
	switch {
	case errors.As(err, &e):
		c.span.Fail(e.Kind.String())
	case err != nil:
		c.span.Fail(strconv.Itoa(status))
	}
	c.span.End()
}
