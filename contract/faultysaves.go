package contract

import (
	"context"
	"fmt"
)

// saveUnder saves one turn under each fault. What is said about it must hold when
// the fault is over.
func saveUnder(breaks ...Break) func(*probe) error {
	return func(p *probe) error {
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

func (p *probe) saveBroken(line Line, h Store, session string, turn int, f Fault) error {
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
func hiddenRetries(p *probe) error {
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
func clearUnder(via func(Store) Store, breaks ...Break) func(*probe) error {
	return func(p *probe) error {
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

func (p *probe) clearBroken(line Line, h Store, session string, f Fault) error {
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
