package propose

import (
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

// refused says that the batch was surely not proposed. Final refusals are told to
// the callers; others leave the calls to the next generation.
func (t *Calls) refused(b *callBatch, why *turn.Error, final bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	for _, c := range b.calls {
		if c.ended || c.attempt != b.gen {
			continue
		}
		t.refuseLocked(c, why, final)
	}
}

func (t *Calls) refuseLocked(c *Call, why *turn.Error, final bool) {
	c.attempt, c.refusal, c.rejected, c.alone = 0, why, final, false
	switch {
	case !final:
	case !c.exposed:
		t.endLocked(c, nil, why)
	case c.lastTerm < t.passed:
		t.endRejectedLocked(c)
	}
}

// passLocked notes that this node has applied an entry of a term. The terms of a log never fall. So what was stored in
// an earlier term has been applied, and has resolved its call, or was in entries that a snapshot replaced, or hardly
// ever will be applied: a leader may yet propose what has been on its way to it all the time. Calls end that were last
// sent in such a term and rejected since.
func (t *Calls) passLocked(term uint64) {
	if term <= t.passed {
		return
	}
	t.passed = term
	for _, c := range t.queue {
		if !c.ended && c.rejected && c.lastTerm < term {
			t.endRejectedLocked(c)
		}
	}
}

func (t *Calls) endRejectedLocked(c *Call) {
	t.endLocked(c, nil, turn.Errorf(turn.Unknown,
		"the operation may have taken place before; it is not sent again now: %s", c.refusal.Message))
}

// exposeLocked notes that the attempt in flight, which is one of the present generation, may have succeeded.
func (t *Calls) exposeLocked(c *Call) { c.attempt, c.exposed, c.lastTerm = 0, true, t.term }

// lost says that the outcome of the batch is unknown.
func (t *Calls) lost(b *callBatch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range b.calls {
		if !c.ended && c.attempt == b.gen { // the present generation: rewind ends the attempts of the one before
			t.exposeLocked(c)
		}
	}
}

// answered takes a leader's outcomes of a batch. One that was skipped took place earlier; this node's own state machine
// will tell the result. So it will of a call that failed and that another leader may have in its log: this one may have
// refused it before it was proposed, and the other attempt can take place yet. If this one says so (unproposed), the
// batch's attempt is over: the call is rejected, unless a later attempt is in flight.
func (t *Calls) answered(b *callBatch, outs []fsm.Outcome) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	t.resolveLocked(outs, b, now)
}

// Applied takes the outcomes of an entry, of the given term, that this node's state machine applied; none, if a
// snapshot that ends with it replaced entries.
// A call that is skipped here and still unresolved took place, or not, in an
// entry that this node never saw, because a snapshot replaced it.
func (t *Calls) Applied(term uint64, outs []fsm.Outcome) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	t.resolveLocked(outs, nil, now)
	t.passLocked(term)
}

// resolveLocked takes outcomes: of a batch, as a leader tells them; of none, those of this node's own state machine.
func (t *Calls) resolveLocked(outs []fsm.Outcome, of *callBatch, now time.Time) {
	own := of == nil
	unproposed := uint64(0) // the number of a call that the leader refused without proposing it
	for i := range outs {
		o := &outs[i]
		if !own && o.Origin == 0 {
			unproposed = o.Number
			continue
		}
		if o.Origin != t.origin || o.Number < t.base || o.Number >= t.base+uint64(len(t.queue)) {
			continue
		}
		c := t.queue[o.Number-t.base]
		switch {
		case c.ended:
		case !own && o.Err != nil && o.Number == unproposed && c.attempt == of.gen:
			t.refuseLocked(c, o.Err, true)
			c.alone = true
		case !own && o.Err != nil && c.exposed:
		case !o.Skipped:
			t.resolved = now
			t.endLocked(c, &o.Result, o.Err)
		case own:
			t.endLocked(c, nil, turn.Errorf(turn.Unknown,
				"the operation was decided while this node was behind, and its result was not seen"))
		}
	}
}

// giveUp ends a call whose caller waits no longer.
func (t *Calls) giveUp(c *Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.trimLocked()
	if c.exposed || c.attempt != 0 {
		t.endLocked(c, nil, turn.Errorf(turn.Unknown, "the wait ended (%v) after the operation was sent to the leader",
			c.ctx.Err()))
		return
	}
	t.endLocked(c, nil, turn.Errorf(turn.Unavailable,
		"the wait ended (%v) before the operation could be sent to a leader", c.ctx.Err()))
}

// Sweep ends the calls whose time is over.
func (t *Calls) Sweep() {
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
		case c.rejected && c.lastTerm == t.term:
			// The leader that rejected it, and has been taking what came before, had the earlier attempt for this long.
			t.endRejectedLocked(c)
		case age >= t.bounds.OutcomeWait:
			t.endLocked(c, nil, turn.Errorf(turn.Unknown, "no outcome within %v", age.Round(time.Millisecond)))
		}
	}
}

func (t *Calls) unsentLocked(c *Call, age time.Duration) *turn.Error {
	if c.refusal != nil {
		return c.refusal
	}
	age = age.Round(time.Millisecond)
	if t.led || t.now().Sub(t.resolved) < t.bounds.LeaderWait/2 {
		return turn.Errorf(turn.Unavailable,
			"the leader did not begin the operation within %v: it waits for the outcome of earlier ones", age)
	}
	return turn.Errorf(turn.Unavailable, "no leader within %v", age)
}

// Abandon ends all calls: the node stops.
func (t *Calls) Abandon() {
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
