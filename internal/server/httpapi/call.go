package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/throttle"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// call is one request on its way through its endpoint.
type call struct {
	*params
	server    *Server
	request   *http.Request
	id        string // of the request, in the answer and in log lines
	ctx       context.Context
	out       *output
	limits    turn.Limits
	namespace string
	path      map[string]string // what the names in the route's pattern stand for
	held      int64             // bytes of the server's memory
	admitted  bool              // the request is one that its user may make
	login     auth.Login
	span      *trace.Active // nil: the request is not traced
}

// reply is an answer that writes itself; any other goes through encoding/json.
type reply interface {
	write(*output)
}

// written is the answer of an endpoint that has written its response.
type written struct{}

func (written) write(*output) {}

// ServeHTTP is around every endpoint: it finds the route, reads what all
// requests have in common, calls the endpoint, and turns what comes back into a
// response, a metric and a line of the log.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if s.allowOrigin(w, r) {
		s.instruments.observe("none", "other", http.StatusNoContent, time.Since(began))
		return
	}
	o := s.newOutput(w)
	c := &call{server: s, request: r, id: requestID(r.Header), ctx: r.Context(), out: o, limits: s.cfg.Engine.Limits()}
	w.Header()[requestIDHeader] = []string{c.id}
	defer func() { s.memory.Take(c.who(), -c.held) }()
	c.headRead()
	c.limitBody()
	t, err := s.router.find(r.Method, r.URL)
	var answer any
	if err == nil {
		c.trace(t)
		answer, err = c.serve(t)
	}
	if !c.admitted {
		leaveBody(w, r)
	}
	s.respond(o, answer, err)
	pattern, method := "none", "other"
	if t.route != nil {
		pattern, method = t.route.pattern, t.route.method
	}
	status := o.code
	if status == 0 {
		status = http.StatusOK
	}
	c.endSpan(status, err)
	took := time.Since(began)
	s.instruments.observe(pattern, method, status, took)
	s.noteSlow(c, t, status, took)
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.log.Debug("http request", "method", r.Method, "route", pattern, "status", status, "bytes", o.sent,
			"took", took, "remote", r.RemoteAddr, "request_id", c.id, "error", err)
	}
	aborted := o.err != nil
	s.freeOutput(o)
	if aborted {
		panic(http.ErrAbortHandler) // closes the connection: the answer is not whole
	}
}

// noteSlow logs a request that took long, unless it waits by its nature: a tail, or a change of the cluster.
func (s *Server) noteSlow(c *call, t target, status int, took time.Duration) {
	if t.route == nil || t.route.needs == anAdmin || strings.HasSuffix(t.route.pattern, "/stream") {
		return
	}
	s.slow.Note(time.Now(), took, func() []any {
		return []any{"request_id", c.id, "method", t.route.method, "route", t.route.pattern, "namespace", c.namespace,
			"key", throttle.Excerpt(c.path["key"]), "status", status, "user", c.login.Name, "client",
			c.request.RemoteAddr}
	})
}

// respond writes what an endpoint returned.
func (s *Server) respond(o *output, answer any, err error) {
	if _, done := answer.(written); done {
		return
	}
	h := o.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err == nil {
		h.Set("Content-Type", "application/json")
		if r, ok := answer.(reply); ok {
			r.write(o)
		} else {
			err = o.value(answer)
		}
	}
	switch {
	case err == nil:
	case o.started():
		o.err = err
	default:
		o.fail(err)
	}
	o.finish()
}

// serve calls the endpoint of t. A defect in it costs its own request only.
func (c *call) serve(t target) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Error("http: endpoint panicked", "request_id", c.id, "route", t.route.pattern,
				"panic", p, "stack", string(debug.Stack()))
			answer, err = nil, c.unsure(fmt.Errorf("defect in the HTTP endpoint: %v", p))
		}
	}()
	if err := c.guard(); err != nil {
		return nil, err
	}
	c.path = t.path
	if c.namespace, err = namespaceOf(c.request.Header, t.namespace); err != nil {
		return nil, err
	}
	if err = c.admit(t.route); err != nil {
		return nil, err
	}
	c.admitted = true
	if c.params, err = parseParams(c.request.URL.RawQuery, t.route.params); err != nil {
		return nil, err
	}
	return t.route.serve(c)
}

// apply carries out a write.
func (c *call) apply(op turn.Op) (turn.Result, error) {
	if err := c.permit(auth.Write, op); err != nil {
		return turn.Result{}, err
	}
	if err := op.Validate(c.limits); err != nil {
		return turn.Result{}, err
	}
	res, err := c.server.cfg.Engine.Apply(c.ctx, op)
	return res, c.unsure(err)
}

// query carries out a read. It holds memory for the payloads of the answer: as
// much as is foreseen while the answer is made, then as much as there is.
func (c *call) query(q turn.Query, fresh turn.Consistency, foreseen int64) (turn.Result, error) {
	if err := c.permit(auth.Read, q); err != nil {
		return turn.Result{}, err
	}
	if err := q.Validate(c.limits); err != nil {
		return turn.Result{}, err
	}
	if err := c.hold(foreseen); err != nil {
		return turn.Result{}, err
	}
	res, err := c.server.cfg.Engine.Query(c.ctx, q, fresh)
	if err != nil {
		return res, err
	}
	if err := c.permit(auth.Read, q); err != nil {
		return turn.Result{}, err // what was read may have come after the right went
	}
	return res, c.hold(payloadBytes(res.Messages) - foreseen)
}

// unsure makes of an error that does not say what became of a write one that
// says so.
func (c *call) unsure(err error) error {
	var e *turn.Error
	if err == nil || errors.As(err, &e) || isRead(c.request) {
		return err
	}
	return turn.Errorf(turn.Unknown, "%v; the write may or may not have taken place", err)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// decodeBody reads a body without messages.
func decodeBody[T any](c *call, read func(members) (T, error)) (op T, err error) {
	body, err := c.body(smallBody)
	if err != nil {
		return op, err
	}
	return read(inBody(body))
}

func payloadBytes(ms []turn.Message) (n int64) {
	for i := range ms {
		n += int64(len(ms[i].Data))
	}
	return n
}
