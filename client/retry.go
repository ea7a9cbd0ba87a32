package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

const (
	backoffFirst = 10 * time.Millisecond
	backoffMost  = 500 * time.Millisecond
)

// do sends r until it is answered for good.
func (c *Client) do(ctx context.Context, r *request) (resp.Value, error) {
	if c.ended(ctx) != nil {
		return resp.Value{}, c.gaveUp(ctx, turn.Errorf(turn.Unavailable, "%s was not sent", verbs[r.verb].command))
	}
	if err := c.hold(ctx, r); err != nil {
		return resp.Value{}, c.gaveUp(ctx,
			turn.Errorf(turn.Unavailable, "%s was not sent: too many requests in flight", verbs[r.verb].command))
	}
	defer r.held.drop()
	return c.retry(ctx, r, c.attempt)
}

// attemptFunc sends a request once. Its error is a *turn.Error: Unknown if the
// request may have been carried out.
type attemptFunc func(ctx context.Context, n *node, r *request) (resp.Value, error)

// retry makes attempts until one of them settles the matter.
func (c *Client) retry(ctx context.Context, r *request, attempt attemptFunc) (resp.Value, error) {
	r.trace = c.traceRequest(ctx)
	start := time.Now()
	uncertain := false // an attempt before may have been carried out
	var nodes tried
	for pause := backoffFirst; ; pause = min(2*pause, backoffMost) {
		n := c.router.pick()
		v, err := attempt(ctx, n, r)
		if err == nil {
			c.router.worked(n)
			return v, nil
		}
		e := turn.AsError(err)
		nodes.note(n.addr, err)
		switch e.Kind {
		case turn.Unknown:
			uncertain = true
			c.router.failed(n)
		case turn.Unavailable:
			c.router.failed(n)
		case turn.Overloaded:
		default:
			if !isLasting(err) {
				return v, settle(uncertain, err)
			}
			c.router.failed(n)
		}
		if e.Kind == turn.Unknown && r.again == never {
			return v, err
		}
		if c.ended(ctx) != nil || errors.Is(err, ErrClosed) {
			return v, c.gaveUp(ctx, settle(uncertain, nodes.all(n.addr, err)))
		}
		if c.cfg.RetryFor < 0 || time.Since(start)+pause > c.cfg.RetryFor || nodes.last(c.router.size()) {
			return v, settle(uncertain, nodes.all(n.addr, err))
		}
		c.retrying(err, start)
		if !c.sleep(ctx, rand.N(pause)+pause/2) {
			return v, c.gaveUp(ctx, settle(uncertain, nodes.all(n.addr, err)))
		}
	}
}

// retrying tells the caller of an attempt that err has ended, of those since start.
func (c *Client) retrying(err error, start time.Time) {
	if c.cfg.OnRetry != nil {
		c.cfg.OnRetry(err, time.Since(start))
	}
}

// settle returns the error of a call whose last attempt ended with err. If an
// earlier attempt is uncertain, the last one decides only if the state machine
// refused it after it had looked for the ids. Everything else may be refused by
// a node before that, by limits of its own for instance, or as a key that has
// been given another type since.
func settle(uncertain bool, err error) error {
	if !uncertain {
		return err
	}
	switch turn.KindOf(err) {
	case turn.NotFound, turn.Exists, turn.Conflict, turn.IDReused, turn.Unknown:
		return err
	}
	return fmt.Errorf("%w (then: %w)",
		turn.Errorf(turn.Unknown, "an earlier attempt may have taken place, but its reply was lost"), err)
}

// ended returns why calls with that context end: the context's error, or ErrClosed; nil: they go on.
func (c *Client) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// gaveUp adds to err that the context ended, or the client was closed.
func (c *Client) gaveUp(ctx context.Context, err error) error {
	why := c.ended(ctx)
	if why == nil || errors.Is(err, why) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, why)
}

// sleep waits for d. It reports false if ctx ends, or the client is closed, first.
func (c *Client) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-c.ctx.Done():
		return false
	}
}

// attempt sends r once over a shared connection of n.
func (c *Client) attempt(ctx context.Context, n *node, r *request) (resp.Value, error) {
	c.followLeader()
	conn, err := n.get(ctx)
	if err != nil {
		return resp.Value{}, dialError(ctx, n, err)
	}
	return conn.roundTrip(ctx, n, r)
}
