package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// one runs a case, and runs it again if it came to nothing: this machine was stalled,
// or a call failed before it met the fault that was meant for it.
func (r *run) one(ctx context.Context, c Case) Result {
	const attempts = 3
	start := time.Now()
	var err error
	for n := range attempts {
		var p pulse
		p.start()
		err = r.attempt(ctx, c, n)
		if still := p.stop(); isLate(err) && still > stillTime {
			err = fmt.Errorf("%w: this machine was stalled for %s; %v", errUnfair, still.Round(time.Millisecond), err)
		}
		if !errors.Is(err, errUnfair) {
			break
		}
	}
	res := Result{Case: c, Elapsed: time.Since(start)}
	res.judge(err)
	return res
}

func (r *Result) judge(err error) {
	var lacks lacksError
	switch {
	case err == nil:
		r.Status = Passed
	case errors.As(err, &lacks):
		r.Status, r.Detail = Unsupported, string(lacks)
	case errors.Is(err, errUndecided):
		r.Status, r.Detail = Undecided, err.Error()
	default:
		r.Status, r.Detail = Failed, strings.TrimSpace(err.Error())
	}
}

// lacksError ends a case that the store cannot be held to.
type lacksError string

func (e lacksError) Error() string { return "not supported: " + string(e) }

// errUnfair: the store was not put to the test. The case is run again; if that does
// not help, it is undecided.
var errUnfair = fmt.Errorf("%w", errUndecided)

// errLate: something did not happen in time.
var errLate = errors.New("too late")

// isLate reports whether err may be the fault of a machine that was stalled, which
// what was found in a session never is.
func isLate(err error) bool {
	return (errors.Is(err, errLate) || errors.Is(err, context.DeadlineExceeded)) && !errors.As(err, new(*violation))
}

// attempt runs a case in its own goroutine, so that a store which ignores its
// contexts fails the case instead of stopping the suite. Attempts of a case share no
// sessions.
func (r *run) attempt(ctx context.Context, c Case, number int) error {
	p := newProbe(r, c, number)
	limit := c.bound(r.Timeout)
	ctx, cancel := p.openings.Bound(ctx, limit, fmt.Errorf("%w: the case did not end within %s", errLate, limit))
	defer cancel()
	p.ctx = ctx
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		done <- p.try()
	}()
	select {
	case err := <-done:
		if err != nil && ctx.Err() != nil && !errors.As(err, new(*violation)) {
			return fmt.Errorf("%w; %w", context.Cause(ctx), err)
		}
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		if err == nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w; %w", context.Cause(ctx), err)
	case <-time.After(brokenGrace):
		return fmt.Errorf("%w, and calls of the store ignore that their context has ended", context.Cause(ctx))
	}
}

// pulse finds out for how long this process did not get to do anything, as when its
// machine is suspended.
type pulse struct {
	quit chan struct{}
	most chan time.Duration
}

const (
	beat      = 50 * time.Millisecond
	stillTime = time.Second
)

func (p *pulse) start() {
	p.quit, p.most = make(chan struct{}), make(chan time.Duration, 1)
	last := time.Now()
	go func() {
		var most time.Duration
		for ; ; last = time.Now() {
			select {
			case <-time.After(beat):
				most = max(most, time.Since(last))
			case <-p.quit:
				p.most <- max(most, time.Since(last))
				return
			}
		}
	}()
}

// stop returns the longest pause.
func (p *pulse) stop() time.Duration {
	close(p.quit)
	return <-p.most
}
