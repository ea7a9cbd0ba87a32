package contract

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// faultProbe breaks the line between a handle and the store.
type faultProbe struct{ *probe }

// loadedOrFailed loads what may fail, and must not be wrong.
func (p faultProbe) loadedOrFailed(ctx context.Context, h Store, session string) (failure, wrong error) {
	ms, err := h.Load(ctx, session)
	if err != nil {
		return err, backendError(err)
	}
	if err := p.check(session, ms, audit{}); err != nil {
		return nil, fmt.Errorf("a load that could not be carried out returned %d messages and no error: %w",
			len(ms), err)
	}
	return nil, nil
}

// backendError reports an error that blames the caller for what the backend did. No
// error blames no store.
func backendError(err error) error {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrRefused) {
		return fmt.Errorf("a failure of the backend is reported as the caller's: %w", err)
	}
	return nil
}

// line opens a line to the store, and a handle through it.
func (p faultProbe) line() (Line, Store, error) {
	line, err := p.Target.Line(p.ctx)
	if err != nil {
		return nil, nil, err
	}
	p.keepLine(line)
	h, err := p.openedOn(line)
	return line, h, err
}

// oneAnswer stands for Answer with the first of Line.Answers, in a case that has a
// sibling which tries them all.
const oneAnswer Break = "one answer"

// faultsOf lists the faults of these kinds, one for each error answer.
func faultsOf(line Line, breaks []Break) []Fault {
	var out []Fault
	for _, b := range breaks {
		answers := line.Answers()
		switch b {
		case oneAnswer:
			answers = answers[:min(1, len(answers))]
		case Answer:
		default:
			out = append(out, Fault{Break: b})
			continue
		}
		for _, a := range answers {
			out = append(out, Fault{Break: Answer, Answer: a})
		}
	}
	return out
}

// broken makes a call, with a deadline, while the fault holds. The call may fail, and
// must not be wrong. It reports how long that took beyond the deadline, if it was too
// long, and a fault that no request met.
func (p faultProbe) broken(line Line, f Fault, call func(ctx context.Context) (failure, wrong error)) error {
	limit := p.callTimeout()
	line.Break(f)
	defer line.Heal()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	start := time.Now()
	failure, wrong := call(ctx)
	d := time.Since(start)
	switch {
	case d > limit+brokenGrace:
		return fmt.Errorf("%w: %s: the call ignored its context and returned after %s", errLate, f,
			d.Round(time.Millisecond))
	case wrong != nil:
		return fmt.Errorf("%s: %w", f, wrong)
	case line.Hits() == 0 && failure != nil:
		return fmt.Errorf("%w: %s: the call failed, and no request had met the fault: %w", errUnfair, f, failure)
	case line.Hits() == 0:
		return fmt.Errorf("%s: no request met the fault: the handle does not use the line", f)
	}
	return nil
}

// filledLine returns a line to the target, a handle on it with n turns in session s,
// and the faults of the line among breaks.
func (p faultProbe) filledLine(n int, breaks []Break) (line Line, h Store, s string, faults []Fault, err error) {
	if line, h, err = p.line(); err != nil {
		return nil, nil, "", nil, err
	}
	s = p.session("a")
	if err = p.fill(h, s, n); err == nil {
		if faults = faultsOf(line, breaks); len(faults) == 0 {
			err = lacksError("error answers")
		}
	}
	return line, h, s, faults, err
}

// fresh returns a handle in working order.
func (p faultProbe) fresh(line Line, old Store) (Store, error) {
	old.Close()
	return p.openedOn(line)
}

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
