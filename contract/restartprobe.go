package contract

import (
	"fmt"
	"time"
)

// restartProbe restarts the store.
type restartProbe struct{ *probe }

func (p restartProbe) restart(kind Capability) error {
	for _, r := range p.Target.Restarts {
		if r.Kind == kind {
			if err := r.Do(p.ctx); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			return nil
		}
	}
	return lacksError(kind)
}

// anyRestart is the harshest kind that the target knows, which is the last one.
func (p restartProbe) anyRestart() error {
	return p.restart(p.Target.Restarts[len(p.Target.Restarts)-1].Kind)
}

// reopened returns a new handle after a restart.
func (p restartProbe) reopened() (Store, error) {
	for end := time.Now().Add(healTime); ; {
		h, err := p.open()
		if err == nil {
			if _, err = p.load(h, p.session("hello")); err == nil {
				p.store = h
				return h, nil
			}
		}
		if time.Now().After(end) || p.ctx.Err() != nil {
			return nil, fmt.Errorf("%w: the store does not answer after the restart: %w", errLate, err)
		}
		pause(p.ctx, 50*time.Millisecond)
	}
}
