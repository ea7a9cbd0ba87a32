package propose

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// maxTraced is how many operations are traced at once; further ones are not.
const maxTraced = 8192

// announcedFor is how long a trace that another node announced is kept for an operation that does not come.
const announcedFor = 10 * time.Second

// Tracing makes spans of the ways of operations into the log: of those of this node's calls, and of those that other
// nodes forwarded. A nil Tracing makes none.
//
// Parts of an operation that its leader records: queue, until it is in an entry that is proposed; commit, until a
// majority has it and the state machine begins with the entry; apply. A node that does not lead records queue, and
// forward, of which the leader's span is a part.
type Tracing struct {
	tracer *trace.Tracer
	count  atomic.Int64 // of open: most operations are not traced, and take no lock

	mu   sync.Mutex
	open map[tag]*traced
}

type tag struct{ origin, number uint64 }

// traced is an operation that is traced.
type traced struct {
	span     *trace.Active // of the request; if foreign, of what this node does for the one that sent it
	foreign  bool
	queued   time.Time
	proposed time.Time     // zero: not yet
	forward  *trace.Active // nil: not on the way to a leader
}

// Announced is what a node that forwards an operation tells of its trace beforehand.
type Announced struct {
	Number  uint64 // of the operation
	Context trace.Context
}

// NewTracing returns nil if the tracer is nil.
func NewTracing(t *trace.Tracer) *Tracing {
	if t == nil {
		return nil
	}
	return &Tracing{tracer: t, open: make(map[tag]*traced)}
}

func (t *Tracing) idle() bool { return t == nil || t.count.Load() == 0 }

// submitted notes an operation of this node.
func (t *Tracing) submitted(ctx context.Context, k tag) {
	if t == nil {
		return
	}
	if span := t.tracer.Within(ctx); span != nil {
		t.add(k, &traced{span: span, queued: time.Now()})
	}
}

func (t *Tracing) add(k tag, x *traced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= maxTraced {
		t.expireLocked()
	}
	if _, again := t.open[k]; again || len(t.open) >= maxTraced {
		return
	}
	t.open[k] = x
	t.count.Add(1)
}

func (t *Tracing) expireLocked() {
	now := time.Now()
	for k, x := range t.open {
		if x.foreign && x.proposed.IsZero() && now.Sub(x.queued) > announcedFor {
			t.removeLocked(k)
		}
	}
}

func (t *Tracing) removeLocked(k tag) {
	delete(t.open, k)
	t.count.Add(-1)
}

// proposed notes that operations are in an entry that is proposed now.
func (t *Tracing) proposed(commands []codec.Command) {
	if t.idle() {
		return
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range commands {
		if x := t.open[tag{commands[i].Origin, commands[i].Number}]; x != nil {
			x.span.Part("turnlog.queue", x.queued, now)
			x.proposed, x.queued = now, now
		}
	}
}

// forwarded notes that operations are sent to another node, and returns what to announce there.
func (t *Tracing) forwarded(commands []codec.Command, leader string) (announced []Announced) {
	if t.idle() {
		return nil
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range commands {
		x := t.open[tag{commands[i].Origin, commands[i].Number}]
		if x == nil {
			continue
		}
		x.span.Part("turnlog.queue", x.queued, now)
		x.forward.End() // of an attempt before
		x.forward = x.span.Begin(trace.Client, "turnlog.forward")
		x.forward.Set(trace.Text("turnlog.leader", leader))
		x.proposed, x.queued = time.Time{}, now
		announced = append(announced, Announced{commands[i].Number, x.forward.Context()})
	}
	return announced
}

// Announce notes the traces of operations that another node is about to forward.
func (t *Tracing) Announce(origin uint64, node string, list []Announced) {
	if t == nil {
		return
	}
	for _, a := range list {
		if span := t.tracer.Begin(a.Context, trace.Server, "turnlog.forwarded"); a.Context.Valid() && span != nil {
			span.Set(trace.Text("turnlog.from", node))
			t.add(tag{origin, a.Number}, &traced{span: span, foreign: true, queued: time.Now()})
		}
	}
}

// answered ends what is left of a batch of another node, which this node has answered.
func (t *Tracing) answered(commands []codec.Command, f *Failure) {
	if t.idle() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range commands {
		k := tag{commands[i].Origin, commands[i].Number}
		x := t.open[k]
		if x == nil || !x.foreign {
			continue
		}
		if f != nil {
			fail(x.span, f.Err)
		}
		x.span.End()
		t.removeLocked(k)
	}
}

// Applied notes the outcomes of an entry that the state machine began to apply at a time, and has applied.
func (t *Tracing) Applied(begun time.Time, outs []fsm.Outcome) {
	if t.idle() {
		return
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range outs {
		o := &outs[i]
		x := t.open[tag{o.Origin, o.Number}]
		if x == nil || x.proposed.IsZero() {
			continue
		}
		x.span.Part("turnlog.commit", x.proposed, begun)
		x.span.Part("turnlog.apply", begun, now, trace.Number("turnlog.log_index", o.Result.Index))
		x.proposed = time.Time{}
		if x.foreign {
			tell(x.span, &o.Result, o.Err)
			x.span.End()
			t.removeLocked(tag{o.Origin, o.Number})
		}
	}
}

// ended notes that a call of this node has ended.
func (t *Tracing) ended(k tag, r *turn.Result, err *turn.Error) {
	if t.idle() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.open[k]
	if x == nil {
		return
	}
	if x.forward != nil && err != nil {
		fail(x.forward, err)
	}
	x.forward.End()
	tell(x.span, r, err)
	t.removeLocked(k)
}

// tell adds an operation's outcome to a span.
func tell(a *trace.Active, r *turn.Result, err *turn.Error) {
	switch {
	case err != nil:
		fail(a, err)
	case r != nil && r.Revision != 0:
		a.Set(trace.Number("turnlog.revision", r.Revision))
	}
}

// fail says that a write failed, and whether it may have taken place.
func fail(a *trace.Active, err *turn.Error) {
	outcome := "not_applied"
	if err.Kind == turn.Unknown {
		outcome = "unknown"
	}
	a.Fail(err.Kind.String())
	a.Set(trace.Text("turnlog.outcome", outcome))
}

// traces wraps an answer, so that it ends the traces of the batch that it answers.
func (t *Tracing) traces(b Forwarded, answer func([]fsm.Outcome, *Failure)) func([]fsm.Outcome, *Failure) {
	if t.idle() {
		return answer
	}
	commands := slices.Clone(b.Commands)
	return func(outs []fsm.Outcome, f *Failure) {
		t.answered(commands, f)
		answer(outs, f)
	}
}
