package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// saveUnder saves one turn under each fault. What is said about it must hold when
// the fault is over.
func saveUnder(breaks ...Break) func(faultProbe) error {
	return func(p faultProbe) error {
		line, h, s, faults, err := p.filledLine(2, breaks)
		if err != nil {
			return err
		}
		for i, f := range faults {
			if err := p.saveBroken(line, h, s, 3+i, f); err != nil {
				return err
			}
			if h, err = p.fresh(line, h); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p faultProbe) saveBroken(line Line, h Store, session string, turn int, f Fault) error {
	err := p.broken(line, f, func(ctx context.Context) (failure, wrong error) {
		err := p.noted(session, turnKey{1, turn}, 2,
			func() error { return h.Add(ctx, session, p.turn(session, 1, turn, 2)...) })
		return err, backendError(err)
	})
	if err != nil {
		return err
	}
	if err := p.verifyWhole(p.store, session); err != nil {
		return fmt.Errorf("%s: what the save said does not hold: %w", f, err)
	}
	return nil
}

// hiddenRetries loses single confirmations, so that a client that sends again by
// itself is answered.
func hiddenRetries(p faultProbe) error {
	line, h, err := p.line()
	if err != nil {
		return err
	}
	s := p.session("a")
	if err := p.fill(h, s, 1); err != nil {
		return err
	}
	for i := range 8 {
		line.Break(Fault{Break: CutAfter, Skip: i / 2, Times: 1})
		err := p.noted(s, turnKey{1, 2 + i}, 2, func() error {
			ctx, cancel := p.op()
			defer cancel()
			return h.Add(ctx, s, p.turn(s, 1, 2+i, 2)...)
		})
		if err := backendError(err); err != nil {
			return err
		}
		line.Heal()
		if h, err = p.fresh(line, h); err != nil {
			return err
		}
	}
	return p.verifyWhole(p.store, s)
}

// clearUnder clears under each fault that keeps the request from the store, through
// what via makes of a handle.
func clearUnder(via func(Store) Store, breaks ...Break) func(faultProbe) error {
	return func(p faultProbe) error {
		line, h, err := p.line()
		if err != nil {
			return err
		}
		for i, f := range faultsOf(line, breaks) {
			if err := p.clearBroken(line, via(h), p.session(fmt.Sprint(i)), f); err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
			if h, err = p.fresh(line, h); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p faultProbe) clearBroken(line Line, h Store, session string, f Fault) error {
	if err := p.fill(p.store, session, 2); err != nil {
		return err
	}
	var cleared bool
	err := p.broken(line, f, func(ctx context.Context) (failure, wrong error) {
		err := h.Clear(ctx, session)
		cleared = err == nil
		return err, backendError(err)
	})
	switch {
	case err != nil:
		return err
	case cleared:
		return p.exactly(p.store, session, nil)
	}
	return p.verify(p.store, session) // no such request reached the store
}

const (
	crowd    = 48              // more callers than connection pools have connections by default
	poolTime = 5 * time.Second // for the pool to be whole again
)

// poolExhausted has a crowd wait for answers that do not come. Those who get no
// connection must be told so, and afterwards there must be connections again.
func poolExhausted(p faultProbe) error {
	line, h, err := p.line()
	if err != nil {
		return err
	}
	s := p.session("a")
	if err := p.fill(h, s, 2); err != nil {
		return err
	}
	err = p.broken(line, Fault{Break: Delay}, func(ctx context.Context) (failure, wrong error) {
		return p.crowded(ctx, h, s, 2)
	})
	if err != nil {
		return err
	}
	if err := p.verifyWhole(p.store, s); err != nil {
		return fmt.Errorf("what %d saves at once said does not hold: %w", crowd/2, err)
	}
	for end := time.Now().Add(poolTime); ; {
		err := together(crowd, func(int) error { return p.verify(h, s) })
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %s after %d calls were waiting at once, the handle cannot carry out so many: %w",
				errLate, poolTime, crowd, err)
		}
		pause(p.ctx, 50*time.Millisecond)
	}
}

// crowded has half of the crowd save a turn each, numbered on from those there, and
// half of it load.
func (p faultProbe) crowded(ctx context.Context, h Store, session string, there int) (failure, wrong error) {
	failures := make([]error, crowd)
	wrong = together(crowd, func(i int) (wrong error) {
		if i%2 == 0 {
			failures[i], wrong = p.loadedOrFailed(ctx, h, session)
			return wrong
		}
		k := turnKey{1, there + 1 + i/2}
		failures[i] = p.noted(session, k, 2,
			func() error { return h.Add(ctx, session, p.turn(session, k.Writer, k.Turn, 2)...) })
		return backendError(failures[i])
	})
	return errors.Join(failures...), wrong
}
