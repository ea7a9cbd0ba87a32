package contract

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

var retryCases = []Case{
	{Name: "same-ids", Incident: I3, Needs: []Capability{HasIDs}, run: probing(sameIDs),
		Proves: "A turn that is sent twice under its ids is there once."},
	{Name: "other-handle", Incident: I3, Needs: []Capability{HasIDs}, run: probing(otherHandle),
		Proves: "The retry is recognised also through another handle."},
	{Name: "after-later-turns", Incident: I3, Needs: []Capability{HasIDs}, run: probing(afterLaterTurns),
		Proves: "A retry after others have saved changes neither the number nor the order of messages."},
	{Name: "at-once", Incident: I5, Needs: []Capability{HasIDs}, run: retriesAtOnce,
		Proves: "Copies of one request that arrive at the same moment are saved once."},
	{Name: "other-content", Incident: I3, Needs: []Capability{HasIDs}, run: probing(otherContent),
		Proves: "An id that comes back with other content is refused, and the first content stays."},
	{Name: "partly-known", Incident: I3, Needs: []Capability{HasIDs}, run: probing(partlyKnown),
		Proves: "A turn of which only some messages are known is refused, and adds nothing."},
	{Name: "same-text-new-ids", Incident: I3, Needs: []Capability{HasIDs}, run: sameTextNewIDs,
		Proves: "The same words under new ids are a new turn."},
	{Name: "other-session", Incident: I2, Needs: []Capability{HasIDs}, run: sameIDsOtherSession,
		Proves: "Ids that are known in one session mean nothing in another."},
	{Name: "after-clear", Incident: I3, Needs: []Capability{HasIDs, HasLateIDs}, run: probing(afterClear),
		Proves: "A retry that arrives after a clear does not bring the turn back."},
	{Name: "after-restart", Incident: I4, Needs: []Capability{HasIDs, CanRestart}, run: probing(afterRestart),
		Proves: "A retry is recognised also when the store was restarted in between."},
	{Name: "reply-lost", Incident: I3, Needs: []Capability{HasIDs, HasLine}, run: probing(replyLost),
		Proves: "A turn whose confirmation was lost is there once after the caller's retry."},
	{Name: "request-lost", Incident: I3, Needs: []Capability{HasIDs, HasLine}, run: probing(requestLost),
		Proves: "A turn whose request was lost is there once after the caller's retry."},
	{Name: "flaky-connection", Incident: I3, Needs: []Capability{HasIDs, HasLine}, run: probing(flakyConnection),
		Proves: "A conversation over a connection that breaks at random is complete, once, in order."},
}

// retryProbe sends turns again.
type retryProbe struct{ *probe }

// again sends a turn that was sent before, under the same ids.
func (p retryProbe) again(s Store, session string, ms []Message) error {
	ctx, cancel := p.op()
	defer cancel()
	if err := s.Add(ctx, session, ms...); err != nil {
		return fmt.Errorf("the retry under the same ids: %w", err)
	}
	return nil
}

func sameIDs(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 2); err != nil {
		return err
	}
	for range 3 {
		if err := p.again(p.store, s, p.turn(s, 1, 2, 2)); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

func otherHandle(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 1); err != nil {
		return err
	}
	other, err := p.open()
	if err != nil {
		return err
	}
	if err := p.again(other, s, p.turn(s, 1, 1, 2)); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}

func afterLaterTurns(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, p.Turns); err != nil {
		return err
	}
	for range 5 {
		if err := p.again(p.store, s, p.turn(s, 1, 1+p.random.IntN(p.Turns), 2)); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

func retriesAtOnce(p *probe) error {
	s := p.session("a")
	handles := make([]Store, p.Writers)
	for i := range handles {
		h, err := p.open()
		if err != nil {
			return err
		}
		handles[i] = h
	}
	for turn := range max(1, p.Turns/4) {
		err := together(len(handles), func(i int) error { return p.add(handles[i], s, 1, turn+1, 2) })
		if err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

// mustConflict adds what has to be refused, and looks that nothing has changed.
func (p retryProbe) mustConflict(session, what string, ms ...Message) error {
	ctx, cancel := p.op()
	defer cancel()
	err := p.store.Add(ctx, session, ms...)
	if verr := p.verifyWhole(p.store, session); verr != nil {
		return fmt.Errorf("%s: %w", what, verr)
	}
	if !errors.Is(err, ErrConflict) {
		return fmt.Errorf("%s gives the error %v instead of ErrConflict", what, err)
	}
	return nil
}

func otherContent(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 2); err != nil {
		return err
	}
	changed := p.turn(s, 1, 2, 2)
	changed[1].Content += " (changed)"
	return p.mustConflict(s, "a turn with known ids and other content", changed...)
}

func partlyKnown(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 2); err != nil {
		return err
	}
	known, fresh := p.turn(s, 1, 2, 2), p.turn(s, 1, 3, 2)
	return p.mustConflict(s, "a turn of which one message is known", known[0], fresh[1])
}

func sameTextNewIDs(p *probe) error {
	s := p.session("a")
	first := []Message{{ID: p.id + "-1", Role: "user", Content: "yes"},
		{ID: p.id + "-2", Role: "assistant", Content: "ok"}}
	second := slices.Clone(first)
	second[0].ID, second[1].ID = p.id+"-3", p.id+"-4"
	ctx, cancel := p.op()
	defer cancel()
	if err := errors.Join(p.store.Add(ctx, s, first...), p.store.Add(ctx, s, second...)); err != nil {
		return err
	}
	return p.exactly(p.store, s, append(first, second...))
}

func sameIDsOtherSession(p *probe) error {
	a, b := p.session("a"), p.session("b")
	ms := p.turn(a, 1, 1, 2)
	ctx, cancel := p.op()
	defer cancel()
	if err := errors.Join(p.store.Add(ctx, a, ms...), p.store.Add(ctx, b, ms...)); err != nil {
		return err
	}
	return errors.Join(p.exactly(p.store, a, ms), p.exactly(p.store, b, ms))
}

func afterClear(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 2); err != nil {
		return err
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := p.store.Clear(ctx, s); err != nil {
		return err
	}
	if err := p.again(p.store, s, p.turn(s, 1, 2, 2)); err != nil {
		return err
	}
	return p.exactly(p.store, s, nil)
}

func afterRestart(p retryProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 3); err != nil {
		return err
	}
	restart := p.Target.Restarts[len(p.Target.Restarts)-1]
	if err := restart.Do(p.ctx); err != nil {
		return err
	}
	h, err := restartProbe(p).reopened()
	if err != nil {
		return err
	}
	if err := p.again(h, s, p.turn(s, 1, 3, 2)); err != nil {
		return err
	}
	return p.verifyWhole(h, s)
}

// lossy sends turns over a line on which requests or answers get lost, each until
// it is acknowledged, under the same ids. Some faults let a few requests pass, for
// stores that need several for one turn.
func (p faultProbe) lossy(turns int, breaks ...Break) error {
	line, h, err := p.line()
	if err != nil {
		return err
	}
	s := p.session("a")
	met := 0
	for t := range turns {
		line.Break(Fault{Break: breaks[p.random.IntN(len(breaks))], Skip: t % 4 * p.random.IntN(3), Times: 1})
		if err := p.untilSaved(line, &h, s, t+1); err != nil {
			return err
		}
		met += line.Hits()
	}
	line.Heal()
	if met == 0 {
		return errors.New("no request met the fault: the handle does not use the line")
	}
	return p.verifyWhole(p.store, s)
}

// untilSaved sends a turn until it is acknowledged; the handle is replaced when a
// call fails.
func (p faultProbe) untilSaved(line Line, h *Store, session string, turn int) error {
	for attempt := 1; ; attempt++ {
		err := p.noted(session, turnKey{1, turn}, 2, func() error {
			ctx, cancel := p.op()
			defer cancel()
			return (*h).Add(ctx, session, p.turn(session, 1, turn, 2)...)
		})
		if err == nil {
			return nil
		}
		if attempt == 10 {
			return fmt.Errorf("not saved in %d attempts, although only one request in each was lost: %w", attempt, err)
		}
		if *h, err = p.openedOn(line); err != nil {
			return err
		}
		pause(p.ctx, 10*time.Millisecond)
	}
}

func replyLost(p faultProbe) error   { return p.lossy(5, CutAfter) }
func requestLost(p faultProbe) error { return p.lossy(5, CutBefore) }

func flakyConnection(p faultProbe) error {
	return p.lossy(p.Turns, CutAfter, CutBefore, CutAfter)
}
