package contract

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/turnlog/turnlog/contract/internal/clock"
)

var conflictCases = []Case{
	{Name: "current-version", Incident: I5, Needs: []Capability{CanCondition}, run: probing(currentVersion),
		Proves: "An append upon the state that was read last is accepted, time after time."},
	{Name: "stale-version", Incident: I5, Needs: []Capability{CanCondition}, run: probing(staleVersion),
		Proves: "An append upon a state that has changed is a conflict, and writes nothing."},
	{Name: "two-requests", Incident: I5, Needs: []Capability{CanCondition}, run: probing(twoRequests),
		Proves: "Of two requests that read the same history, one learns that it moved on."},
	{Name: "one-winner", Incident: I5, Needs: []Capability{CanCondition}, run: probing(oneWinner),
		Proves: "Of many conditional appends upon the same state, exactly one succeeds."},
	{Name: "one-founder", Incident: I5, Needs: []Capability{CanCondition}, run: probing(oneFounder),
		Proves: "Of many that begin a session which does not exist, exactly one succeeds."},
	{Name: "counter", Incident: I1, Needs: []Capability{CanCondition}, run: probing(counter),
		Proves: "Read-modify-write under conditions counts right, however many count."},
	{Name: "clear-changes", Incident: I5, Needs: []Capability{CanCondition}, run: probing(clearChanges),
		Proves: "A session that was cleared and refilled with the same words is another state."},
	{Name: "other-session", Incident: I2, Needs: []Capability{CanCondition}, run: probing(otherSessionMoves),
		Proves: "A write to one session is no conflict in another."},
	{Name: "retried-winner", Incident: I5, Needs: []Capability{CanCondition, HasIDs}, run: probing(retriedWinner),
		Proves: "Who won and did not hear of it succeeds when asking again, instead of losing to itself."},
	{Name: "processes", Incident: I5, Needs: []Capability{CanCondition, HasProcesses},
		run:    probing(conditionalProcesses),
		Proves: "Several processes that append upon what they read lose nothing and overwrite nothing."},
	{Name: "linearizable", Incident: I5, Needs: []Capability{CanCondition, HasLinear}, run: probing(linearizable),
		Proves: "There is one order that explains every accepted and every refused condition."},
}

// conflictProbe saves upon a version of a session.
type conflictProbe struct{ *probe }

func (p conflictProbe) version(s Store, session string) ([]Message, string, error) {
	ctx, cancel := p.op()
	defer cancel()
	return s.(Conditional).LoadVersion(ctx, session)
}

// addIf is a noted conditional add.
func (p conflictProbe) addIf(s Store, session, version string, writer, turn int) error {
	ctx, cancel := p.op()
	defer cancel()
	e := event{Op: opAddIf, Session: session, Key: turnKey{writer, turn}, Parts: 2, Start: clock.Now()}
	err := s.(Conditional).AddIf(ctx, session, version, p.turn(session, writer, turn, 2)...)
	e.finish(err)
	p.history.record(e)
	return err
}

func currentVersion(p conflictProbe) error {
	s := p.session("a")
	for i := range p.Turns {
		_, v, err := p.version(p.store, s)
		if err != nil {
			return err
		}
		if err := p.addIf(p.store, s, v, 1, i+1); err != nil {
			return fmt.Errorf("turn %d, upon the current state: %w", i+1, err)
		}
	}
	return p.verifyWhole(p.store, s)
}

func staleVersion(p conflictProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 1); err != nil {
		return err
	}
	_, old, err := p.version(p.store, s)
	if err != nil {
		return err
	}
	other, err := p.open()
	if err != nil {
		return err
	}
	if err := p.add(other, s, 2, 1, 2); err != nil {
		return err
	}
	return p.refusedUpon(s, old)
}

// refusedUpon looks that nothing can be added upon an old version.
func (p conflictProbe) refusedUpon(session, old string) error {
	err := p.addIf(p.store, session, old, 3, 1)
	if verr := p.verifyWhole(p.store, session); verr != nil {
		return verr
	}
	if !errors.Is(err, ErrConflict) {
		return fmt.Errorf("an append upon an old state gives the error %v instead of ErrConflict", err)
	}
	return nil
}

// twoRequests is incident I5: one user, two tabs.
func twoRequests(p conflictProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 1); err != nil {
		return err
	}
	other, err := p.open()
	if err != nil {
		return err
	}
	_, first, err := p.version(p.store, s)
	if err != nil {
		return err
	}
	_, second, err := p.version(other, s)
	if err != nil {
		return err
	}
	if err := p.addIf(other, s, second, 2, 1); err != nil {
		return err
	}
	return p.refusedUpon(s, first)
}

func oneWinner(p conflictProbe) error {
	s := p.session("a")
	for round := range max(1, p.Turns/3) {
		if err := p.oneOf(s, round+1); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

func oneFounder(p conflictProbe) error {
	for i := range max(1, p.Turns/3) {
		s := p.session(fmt.Sprint(i))
		if err := p.oneOf(s, 1); err != nil {
			return err
		}
		if err := p.verifyWhole(p.store, s); err != nil {
			return err
		}
	}
	return nil
}

// oneOf lets every writer append upon the present state.
func (p conflictProbe) oneOf(session string, turn int) error {
	_, v, err := p.version(p.store, session)
	if err != nil {
		return err
	}
	var winners atomic.Int64
	err = together(p.Writers, func(i int) error {
		err := p.addIf(p.store, session, v, i+1, turn)
		if err == nil {
			winners.Add(1)
		}
		if errors.Is(err, ErrConflict) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if n := winners.Load(); n != 1 {
		return fmt.Errorf("%d of %d appends upon the same state succeeded", n, p.Writers)
	}
	return nil
}

// counter keeps a number in the last message.
func counter(p conflictProbe) error {
	s := p.session("a")
	each := max(1, p.Turns/3)
	err := together(p.Writers, func(int) error {
		for range each {
			if err := p.increment(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	ms, err := p.load(p.store, s)
	if err != nil {
		return err
	}
	if n := p.Writers * each; len(ms) != n || ms[n-1].Content != strconv.Itoa(n) {
		return fmt.Errorf("%d increments were accepted, and %d messages are there, the last of which says %s", n,
			len(ms), ms[len(ms)-1])
	}
	return nil
}

func (p conflictProbe) increment(session string) error {
	for {
		ms, v, err := p.version(p.store, session)
		if err != nil {
			return err
		}
		n := 0
		if len(ms) > 0 {
			if n, err = strconv.Atoi(ms[len(ms)-1].Content); err != nil {
				return err
			}
		}
		ctx, cancel := p.op()
		err = p.store.(Conditional).AddIf(ctx, session, v, Message{Role: "user", Content: strconv.Itoa(n + 1)})
		cancel()
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

func clearChanges(p conflictProbe) error {
	s := p.session("a")
	refill := func(ctx context.Context) error {
		return p.store.Add(ctx, s, Message{Role: "user", Content: "the same"})
	}
	ctx, cancel := p.op()
	defer cancel()
	if err := refill(ctx); err != nil {
		return err
	}
	_, old, err := p.version(p.store, s)
	if err != nil {
		return err
	}
	if err := errors.Join(p.store.Clear(ctx, s), refill(ctx)); err != nil {
		return err
	}
	err = p.store.(Conditional).AddIf(ctx, s, old, Message{Role: "user", Content: "upon what is gone"})
	if !errors.Is(err, ErrConflict) {
		return fmt.Errorf("an append upon the state before the clear gives the error %v instead of ErrConflict", err)
	}
	return p.exactly(p.store, s, []Message{{Role: "user", Content: "the same"}})
}

func otherSessionMoves(p conflictProbe) error {
	a, b := p.session("a"), p.session("b")
	if err := errors.Join(p.fill(p.store, a, 1), p.fill(p.store, b, 1)); err != nil {
		return err
	}
	_, v, err := p.version(p.store, a)
	if err != nil {
		return err
	}
	if err := p.fill(p.store, b, 2); err != nil {
		return err
	}
	if err := p.addIf(p.store, a, v, 2, 1); err != nil {
		return fmt.Errorf("after a write to another session: %w", err)
	}
	return p.verifyWhole(p.store, a)
}

func retriedWinner(p conflictProbe) error {
	s := p.session("a")
	if err := p.fill(p.store, s, 1); err != nil {
		return err
	}
	_, v, err := p.version(p.store, s)
	if err != nil {
		return err
	}
	for attempt := range 3 {
		if err := p.addIf(p.store, s, v, 2, 1); err != nil {
			return fmt.Errorf("attempt %d of the same request: %w", attempt+1, err)
		}
	}
	return p.verifyWhole(p.store, s)
}

func conditionalProcesses(p processProbe) error {
	s := p.session("a")
	as := p.crew(s, max(1, p.Turns/3), 2)
	for i := range as {
		as[i].Condition = true
	}
	if err := p.processes(p.ctx, as); err != nil {
		return err
	}
	return p.verifyWhole(p.store, s)
}
