package propose

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Calls is the table of this node's unresolved calls, in the order of Submit.
//
// They are taken from the table's cursor on: by the node's Proposer while the node leads, else by
// its Forwarder, which sends them to the leader. If that fails in any way, or another node
// becomes leader, the cursor goes back to the first unresolved call, and all are sent again, in
// order, under their old tags; the state machine applies a tag once. So a call is resolved by
// what comes first: the leader's answer, or this node's own state machine applying it.
//
// All methods may be called by any goroutine.
type Calls struct {
	bounds  Bounds
	origin  uint64
	now     func() time.Time
	waiting func() // told that there is something to take; must not block

	mu     sync.Mutex
	queue  []*Call // numbers base, base+1, …; ended calls are removed from the front
	base   uint64
	cursor uint64 // number of the next call to take
	gen    uint64 // of the present attempt; rises with each rewind
	led    bool   // the generation has a leader
	term   uint64 // of the leader of the generation, as this node knew it when the generation began
	passed uint64 // the term of the last entry that this node applied
	bytes  int    // of operations not ended
	open   int    // calls not ended
	closed *turn.Error
	// resolved is when the last call was resolved by an outcome.
	resolved time.Time

	stats   CallStats
	tracing *Tracing // nil: calls are not traced
}

// CallStats counts calls: all of them; those rejected because too many were in flight; attempts
// after the first one; those that ended with an error of either kind.
type CallStats struct {
	Submitted, Overloaded, Retries, Unknown, Unavailable uint64
}

// NewCalls returns an empty table. origin is in the tag of each call, so no other process may have
// it. waiting is told, with the table locked, that there is something to take.
func NewCalls(bounds Bounds, origin uint64, now func() time.Time, waiting func()) *Calls {
	return &Calls{bounds: bounds, origin: origin, now: now, waiting: waiting, base: 1, cursor: 1, gen: 1}
}

// TraceBy has calls traced; it is called before the first Submit.
func (t *Calls) TraceBy(tracing *Tracing) { t.tracing = tracing }

// Submit adds a call at the end of the table, unless the table is closed or full: then the call has
// ended already. op is the encoded operation, weight its fsm.Weight.
func (t *Calls) Submit(ctx context.Context, op []byte, weight int) *Call {
	c := &Call{table: t, ctx: ctx, op: op, weight: weight, begun: t.now(), done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Submitted++
	switch {
	case t.closed != nil:
		t.endLocked(c, nil, t.closed)
		return c
	case t.bytes > 0 && t.bytes+len(op) > t.bounds.MaxBytes || len(t.queue) >= t.bounds.MaxCalls:
		t.stats.Overloaded++
		t.endLocked(c, nil, turn.Errorf(turn.Overloaded, "%d operations with %d bytes are in flight on this node",
			t.open, t.bytes))
		return c
	}
	c.number = t.base + uint64(len(t.queue))
	t.queue = append(t.queue, c)
	t.tracing.submitted(ctx, tag{t.origin, c.number})
	t.bytes += len(op)
	t.open++
	t.waiting()
	return c
}

// Origin returns what the tags of all calls begin with.
func (t *Calls) Origin() uint64 { return t.origin }

// Failed returns a call that ended before it began.
func (t *Calls) Failed(err *turn.Error) *Call {
	c := &Call{table: t, ctx: context.Background(), err: err, ended: true, done: make(chan struct{})}
	close(c.done)
	return c
}

// endLocked resolves a call; only the first outcome counts.
func (t *Calls) endLocked(c *Call, r *turn.Result, err *turn.Error) {
	if c.ended {
		return
	}
	if r != nil {
		c.result = *r
	}
	c.err, c.ended = err, true
	if err != nil {
		switch err.Kind {
		case turn.Unknown:
			t.stats.Unknown++
		case turn.Unavailable:
			t.stats.Unavailable++
		}
	}
	if c.number != 0 {
		t.tracing.ended(tag{t.origin, c.number}, r, err)
	}
	close(c.done)
	if c.number == 0 {
		return
	}
	t.bytes -= len(c.op)
	t.open--
	c.op = nil
}

// trimLocked forgets the ended calls at the front.
func (t *Calls) trimLocked() {
	n := 0
	for n < len(t.queue) && t.queue[n].ended {
		t.queue[n] = nil
		n++
	}
	t.queue = t.queue[n:]
	t.base += uint64(n)
	t.cursor = max(t.cursor, t.base)
}

// Close refuses new calls from now on.
func (t *Calls) Close(why *turn.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = why
}

// Unresolved returns how many calls are in flight.
func (t *Calls) Unresolved() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// Oldest returns how long the oldest call has been waiting for its outcome.
func (t *Calls) Oldest() time.Duration {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.queue {
		if !c.ended {
			return now.Sub(c.begun)
		}
	}
	return 0
}

// Stats returns what was counted so far.
func (t *Calls) Stats() CallStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}
