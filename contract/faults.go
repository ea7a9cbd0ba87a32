package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var faultCases = []Case{
	{Name: "cancelled", Incident: I3, run: probing(cancelled),
		Proves: "A load whose context has ended is an error or complete, never an empty history."},
	{Name: "cancelled-save", Incident: I3, run: cancelledSave,
		Proves: "A save whose context has ended tells the truth about what it did."},
	{Name: "load-delayed", Incident: I3, Needs: []Capability{HasLine}, run: probing(loadUnder(syncHandle, Delay)),
		Proves: "A load whose answer comes too late is an error, in time."},
	{Name: "load-cut", Incident: I3, Needs: []Capability{HasLine},
		run:    probing(loadUnder(syncHandle, CutBefore, CutAfter)),
		Proves: "A load whose connection is cut is an error or complete, never an empty history."},
	{Name: "load-half-open", Incident: I3, Needs: []Capability{HasLine}, run: probing(loadUnder(syncHandle, HalfOpen)),
		Proves: "A load over a connection that has died silently is an error, in time."},
	{Name: "load-error-answer", Incident: I3, Needs: []Capability{HasLine}, run: probing(loadUnder(syncHandle, Answer)),
		Proves: "An error that the server answers to a load, such as LOADING, is an error for the caller."},
	{Name: "save-delayed", Incident: I3, Needs: []Capability{HasLine}, run: probing(saveUnder(Delay)),
		Proves: "A save whose confirmation comes too late is no success, and is there once at most."},
	{Name: "save-cut-before", Incident: I3, Needs: []Capability{HasLine}, run: probing(saveUnder(CutBefore)),
		Proves: "A save whose request was lost is no success."},
	{Name: "save-cut-after", Incident: I3, Needs: []Capability{HasLine}, run: probing(saveUnder(CutAfter)),
		Proves: "A save whose confirmation was lost does not claim that nothing happened, and is there once at most."},
	{Name: "save-half-open", Incident: I3, Needs: []Capability{HasLine}, run: probing(saveUnder(HalfOpen)),
		Proves: "A save over a connection that has died silently is no success, in time."},
	{Name: "save-error-answer", Incident: I3, Needs: []Capability{HasLine}, run: probing(saveUnder(Answer)),
		Proves: "An error that the server answers to a save, such as OOM, is an error for the caller."},
	{Name: "hidden-retries", Incident: I3, Needs: []Capability{HasLine}, run: probing(hiddenRetries),
		Proves: "When confirmations are lost, retries inside the client double nothing."},
	{Name: "clear-error-answer", Incident: I3, Needs: []Capability{HasLine},
		run:    probing(clearUnder(syncHandle, Answer, CutBefore)),
		Proves: "A clear that failed is an error, and what it did not clear is still there."},
	{Name: "async-load-cut", Incident: I3, Needs: []Capability{HasLine, CanAsyncLoad},
		run:    probing(loadUnder(asyncHandle, CutBefore, CutAfter, oneAnswer)),
		Proves: "An asynchronous load that failed is an error or complete, never an empty history."},
	{Name: "async-clear-cut", Incident: I3, Needs: []Capability{HasLine, CanAsyncClear},
		run:    probing(clearUnder(asyncHandle, oneAnswer, CutBefore)),
		Proves: "An asynchronous clear that failed is an error, and what it did not clear is still there."},
	{Name: "pool-exhausted", Incident: I3, Needs: []Capability{HasLine}, run: probing(poolExhausted),
		Proves: "When more calls wait than there are connections, every save says truly whether it took place, and " +
			"the handle recovers."},
	{Name: "unreadable-row", Incident: I3, Needs: []Capability{CanCorrupt}, run: probing(unreadableRow),
		Proves: "A message that cannot be read is an error for the caller, never an empty or a shorter history."},
	{Name: "flapping", Incident: I3, Needs: []Capability{HasLine}, run: probing(flapping),
		Proves: "While the connection comes and goes, every load is complete or an error."},
	{Name: "recovers", Incident: I3, Needs: []Capability{HasLine}, run: probing(recovers),
		Proves: "The handle that saw every fault works again when they are over."},
}

func cancelled(p faultProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 3); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, wrong := p.loadedOrFailed(ctx, p.store, s)
	return wrong
}

func cancelledSave(p *probe) error {
	s := p.session("a")
	for i := range 5 {
		err := p.noted(s, turnKey{1, i + 1}, 2, func() error {
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			return p.store.Add(ctx, s, p.turn(s, 1, i+1, 2)...)
		})
		if err := backendError(err); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

// loadUnder loads under each fault, through what via makes of a handle.
func loadUnder(via func(Store) Store, breaks ...Break) func(faultProbe) error {
	return func(p faultProbe) error {
		line, h, s, faults, err := p.filledLine(3, breaks)
		if err != nil {
			return err
		}
		for _, f := range faults {
			if err := p.broken(line, f,
				func(ctx context.Context) (failure,
					wrong error) {
					return p.loadedOrFailed(ctx, via(h), s)
				}); err != nil {
				return err
			}
			if h, err = p.fresh(line, h); err != nil {
				return err
			}
		}
		return nil
	}
}

func flapping(p faultProbe) error {
	line, h, err := p.line()
	if err != nil {
		return err
	}
	s := p.session("a")
	if err := p.fill(h, s, 3); err != nil {
		return err
	}
	kinds := []Break{CutBefore, CutAfter, Answer}
	if len(line.Answers()) == 0 {
		kinds = kinds[:2]
	}
	for range 3 * p.Turns {
		f := Fault{Break: kinds[p.random.IntN(len(kinds))], Times: 1 + p.random.IntN(3)}
		if f.Break == Answer {
			f.Answer = line.Answers()[p.random.IntN(len(line.Answers()))]
		}
		line.Break(f)
		ctx, cancel := context.WithTimeout(p.ctx, p.callTimeout())
		_, wrong := p.loadedOrFailed(ctx, h, s)
		cancel()
		line.Heal()
		if wrong != nil {
			return fmt.Errorf("%s: %w", f, wrong)
		}
	}
	return nil
}

func recovers(p faultProbe) error {
	line, h, err := p.line()
	if err != nil {
		return err
	}
	s := p.session("a")
	if err := p.fill(h, s, 1); err != nil {
		return err
	}
	for _, f := range faultsOf(line, []Break{CutBefore, Delay, HalfOpen}) {
		err := p.broken(line, f,
			func(ctx context.Context) (failure, wrong error) { return p.loadedOrFailed(ctx, h, s) })
		if err != nil {
			return err
		}
	}
	for end := time.Now().Add(healTime); ; {
		err := p.verify(h, s)
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %s after all faults were over: %w", errLate, healTime, err)
		}
		pause(p.ctx, 50*time.Millisecond)
	}
}

// unreadableRow is incident I3: what a class of another version has written was read
// as no history at all, and without an error.
func unreadableRow(p faultProbe) error {
	s, other := p.session("a"), p.session("b")
	if err := errors.Join(p.fill(p.store, s, 3), p.fill(p.store, other, 2)); err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.(Corrupter).Corrupt(ctx, s); err != nil {
		return fmt.Errorf("corrupt: %w", err)
	}
	fresh, err := p.open()
	if err != nil {
		return err
	}
	for _, h := range []Store{p.store, fresh} {
		if err := p.noticed(h, s); err != nil {
			return err
		}
	}
	// A store that reads and writes back must not put its mistake into effect.
	saveErr := p.add(fresh, s, 1, 4, 2)
	if outcomeOf(saveErr) != unknown {
		if err := p.noticed(p.store, s); err != nil {
			return fmt.Errorf("after another save (error %v): %w", saveErr, err)
		}
	}
	return p.verifyWhole(p.store, other)
}

// noticed loads a session of which one message cannot be read. That is an error,
// unless the store keeps any bytes: then it shows these, and all other messages.
func (p faultProbe) noticed(h Store, session string) error {
	ctx, cancel := context.WithTimeout(p.ctx, defaultOp)
	defer cancel()
	ms, err := h.Load(ctx, session)
	if err != nil {
		return backendError(err)
	}
	var want []Message
	for _, e := range p.history.of(session) {
		if e.Outcome == saved {
			want = append(want, p.turn(session, e.Key.Writer, e.Key.Turn, e.Parts)...)
		}
	}
	changed := 0
	for i := range min(len(ms), len(want)) {
		if !ms[i].Equal(want[i]) {
			changed++
		}
	}
	if p.Target.Claims.Bytes && len(ms) == len(want) && changed <= 1 {
		return nil
	}
	return fmt.Errorf("lost: one message of %d cannot be read; the load returned %d messages and no error",
		len(want), len(ms))
}
