package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	crowd    = 48              // more callers than connection pools have connections by default
	poolTime = 5 * time.Second // for the pool to be whole again
)

// poolExhausted has a crowd wait for answers that do not come. Those who get no
// connection must be told so, and afterwards there must be connections again.
func poolExhausted(p *probe) error {
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
func (p *probe) crowded(ctx context.Context, h Store, session string, there int) (failure, wrong error) {
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
