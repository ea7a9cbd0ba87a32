package raftstore

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// calls is the table of this node's unresolved calls, in the order of Submit.
//
// Whoever leads takes them from the table's cursor on: the own proposer, or the
// forwarder that sends them to another node. If that fails in any way, or
// somebody else leads, the cursor goes back to the first unresolved call, and
// all are sent again, in order, under their old tags; the state machine applies a
// tag once. So a call is resolved by what comes first: the leader's answer, or
// this node's own state machine applying it.
type calls struct {
	bounds  CallBounds
	origin  uint64
	now     func() time.Time
	waiting func() // told that there is something to take; must not block

	mu     sync.Mutex
	queue  []*Call // numbers base, base+1, …; ended calls are removed from the front
	base   uint64
	cursor uint64 // number of the next call to take
	gen    uint64 // of the present attempt; rises with each rewind
	bytes  int    // of operations not ended
	open   int    // calls not ended
	closed *turn.Error

	stats callStats
}

type callStats struct {
	submitted, overloaded, retries, unknown, unavailable uint64
}

func newCalls(bounds CallBounds, origin uint64, now func() time.Time, waiting func()) *calls {
	return &calls{bounds: bounds, origin: origin, now: now, waiting: waiting, base: 1, cursor: 1, gen: 1}
}

// submit adds a call at the end of the table.
func (t *calls) submit(ctx context.Context, op []byte, weight int) *Call {
	c := &Call{table: t, ctx: ctx, op: op, weight: weight, begun: t.now(), done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.submitted++
	switch {
	case t.closed != nil:
		t.endLocked(c, nil, t.closed)
		return c
	case t.bytes > 0 && t.bytes+len(op) > t.bounds.MaxBytes || len(t.queue) >= t.bounds.MaxCalls:
		t.stats.overloaded++
		t.endLocked(c, nil, turn.Errorf(turn.Overloaded, "%d operations with %d bytes are under way on this node", t.open, t.bytes))
		return c
	}
	c.number = t.base + uint64(len(t.queue))
	t.queue = append(t.queue, c)
	t.bytes += len(op)
	t.open++
	t.waiting()
	return c
}

// failed is a call that ended before it began.
func (t *calls) failed(err *turn.Error) *Call {
	c := &Call{table: t, ctx: context.Background(), err: err, ended: true, done: make(chan struct{})}
	close(c.done)
	return c
}

// endLocked resolves a call; only the first outcome counts.
func (t *calls) endLocked(c *Call, r *turn.Result, err *turn.Error) {
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
			t.stats.unknown++
		case turn.Unavailable:
			t.stats.unavailable++
		}
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
func (t *calls) trimLocked() {
	n := 0
	for n < len(t.queue) && t.queue[n].ended {
		t.queue[n] = nil
		n++
	}
	t.queue = t.queue[n:]
	t.base += uint64(n)
	t.cursor = max(t.cursor, t.base)
}

// batch is a run of calls that were taken together.
type batch struct {
	gen      uint64
	calls    []*Call
	commands []codec.Command
	bytes    int
	weight   int
}

// take hands out the next calls: at most as many, as large and as heavy as given but, if
// alone, one of any size. It returns nil if there are none, or if gen is no longer current.
func (t *calls) take(gen uint64, maxCommands, maxBytes, maxWeight int) *batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	if gen != t.gen || t.cursor == t.base+uint64(len(t.queue)) {
		return nil
	}
	b := &batch{gen: gen}
	for t.cursor < t.base+uint64(len(t.queue)) && len(b.calls) < maxCommands {
		c := t.queue[t.cursor-t.base]
		if !c.ended {
			if b.bytes > 0 && b.bytes+len(c.op) > maxBytes || c.weight > 0 && b.weight+c.weight > maxWeight {
				break
			}
			if c.attempt != 0 || c.exposed {
				t.stats.retries++
			}
			c.attempt = gen
			b.bytes += len(c.op)
			b.weight += c.weight
			b.calls = append(b.calls, c)
			b.commands = append(b.commands, codec.Command{Origin: t.origin, Number: c.number, Op: c.op})
		}
		t.cursor++
	}
	if len(b.calls) == 0 {
		return nil
	}
	return b
}

// pending returns how many calls there are to take, or a few more: some may have
// ended meanwhile.
func (t *calls) pending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.base + uint64(len(t.queue)) - t.cursor)
}

// rewind begins a new generation: every unresolved call is to be taken again.
// Attempts under way may yet succeed. It returns the generation.
func (t *calls) rewind() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.queue {
		if c.attempt != 0 {
			c.attempt, c.exposed = 0, true
		}
	}
	t.cursor = t.base
	t.gen++
	return t.gen
}

// refused says that the batch was surely not proposed. Final refusals are told to
// the callers; others leave the calls to the next generation.
func (t *calls) refused(b *batch, why *turn.Error, final bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	for _, c := range b.calls {
		if c.ended || c.attempt != b.gen {
			continue
		}
		c.attempt, c.refusal = 0, why
		if final && !c.exposed {
			t.endLocked(c, nil, why)
		}
	}
}

// lost says that the outcome of the batch is unknown.
func (t *calls) lost(b *batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range b.calls {
		if !c.ended && c.attempt == b.gen {
			c.attempt, c.exposed = 0, true
		}
	}
}

// answered takes the leader's outcomes. One that was skipped took place earlier;
// this node's own state machine will tell the result. So it will of a call that failed and
// that an earlier leader may have in its log: the present one may have refused it before it
// was proposed, and the earlier attempt can take place yet.
func (t *calls) answered(outs []fsm.Outcome) { t.resolve(outs, false) }

// applied takes the outcomes of an entry that this node's state machine applied.
// A call that is skipped here and still unresolved took place, or not, in an
// entry that this node never saw, because a snapshot replaced it.
func (t *calls) applied(outs []fsm.Outcome) { t.resolve(outs, true) }

func (t *calls) resolve(outs []fsm.Outcome, own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	for i := range outs {
		o := &outs[i]
		if o.Origin != t.origin || o.Number < t.base || o.Number >= t.base+uint64(len(t.queue)) {
			continue
		}
		c := t.queue[o.Number-t.base]
		switch {
		case !own && o.Err != nil && c.exposed:
		case !o.Skipped:
			t.endLocked(c, &o.Result, o.Err)
		case own:
			t.endLocked(c, nil, turn.Errorf(turn.Unknown, "the operation was decided while this node was behind, and its result was not seen"))
		}
	}
}

// giveUp ends a call whose caller waits no longer.
func (t *calls) giveUp(c *Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	if c.exposed || c.attempt != 0 {
		t.endLocked(c, nil, turn.Errorf(turn.Unknown, "the wait ended (%v) after the operation was sent to the leader", c.ctx.Err()))
		return
	}
	t.endLocked(c, nil, turn.Errorf(turn.Unavailable, "the wait ended (%v) before the operation could be sent to a leader", c.ctx.Err()))
}

// sweep ends the calls whose time is over.
func (t *calls) sweep() {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	for _, c := range t.queue {
		age := now.Sub(c.begun)
		if age < t.bounds.LeaderWait {
			return // those behind it are younger
		}
		switch {
		case c.ended:
		case c.attempt == 0 && !c.exposed:
			t.endLocked(c, nil, t.unsentLocked(c, age))
		case age >= t.bounds.OutcomeWait:
			t.endLocked(c, nil, turn.Errorf(turn.Unknown, "no outcome within %v", age.Round(time.Millisecond)))
		}
	}
}

func (t *calls) unsentLocked(c *Call, age time.Duration) *turn.Error {
	if c.refusal != nil {
		return c.refusal
	}
	return turn.Errorf(turn.Unavailable, "no leader within %v", age.Round(time.Millisecond))
}

// close refuses new calls from now on.
func (t *calls) close(why *turn.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = why
}

// unresolved returns how many calls are under way.
func (t *calls) unresolved() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// abandon ends all calls: the node stops.
func (t *calls) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	for _, c := range t.queue {
		if c.attempt == 0 && !c.exposed {
			t.endLocked(c, nil, turn.Errorf(turn.Unavailable, "the node is stopping"))
		} else {
			t.endLocked(c, nil, turn.Errorf(turn.Unknown, "the node stopped before the outcome was known"))
		}
	}
}

func (t *calls) statistics() callStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}
