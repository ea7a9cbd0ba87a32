package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
	weight := min(r.weight(), c.cfg.MaxInFlightBytes)
	if err := c.inFlight.Acquire(ctx, weight); err != nil {
		return resp.Value{}, gaveUp(ctx,
			turn.Errorf(turn.Unavailable, "%s was not sent: too many requests in flight", verbs[r.verb].command))
	}
	defer c.inFlight.Release(weight)
	return c.retry(ctx, r, c.attempt)
}

// attemptFunc sends a request once. Its error is a *turn.Error: Unknown if the
// request may have been carried out.
type attemptFunc func(ctx context.Context, n *node, r *request) (resp.Value, error)

// retry makes attempts until one of them settles the matter.
func (c *Client) retry(ctx context.Context, r *request, attempt attemptFunc) (resp.Value, error) {
	start := time.Now()
	uncertain := false // an attempt before may have been carried out
	for pause := backoffFirst; ; pause = min(2*pause, backoffMost) {
		n := c.router.pick()
		v, err := attempt(ctx, n, r)
		if err == nil {
			c.router.worked(n)
			return v, nil
		}
		e := turn.AsError(err)
		switch e.Kind {
		case turn.Unknown:
			uncertain = true
			c.router.failed(n)
		case turn.Unavailable:
			c.router.failed(n)
		case turn.Overloaded:
		default:
			return v, settle(uncertain, err)
		}
		if e.Kind == turn.Unknown && r.again == never {
			return v, err
		}
		if ctx.Err() != nil {
			return v, gaveUp(ctx, settle(uncertain, err))
		}
		if c.cfg.RetryFor < 0 || time.Since(start)+pause > c.cfg.RetryFor {
			return v, settle(uncertain, err)
		}
		if !c.sleep(ctx, rand.N(pause)+pause/2) {
			return v, gaveUp(ctx, settle(uncertain, err))
		}
	}
}

// settle returns the error of a call whose last attempt ended with err. If an
// earlier attempt is uncertain, the last one decides only if the state machine
// refused it: it would have recognised the ids otherwise.
func settle(uncertain bool, err error) error {
	if !uncertain {
		return err
	}
	e := turn.AsError(err)
	switch e.Kind {
	case turn.Unavailable, turn.Overloaded, turn.ReadOnly, turn.Unauthorized, turn.Forbidden, turn.Internal,
		turn.Newer, turn.Corrupt:
		return fmt.Errorf("%w (then: %w)",
			turn.Errorf(turn.Unknown, "an earlier attempt may have taken place, but its reply was lost"), err)
	}
	return err
}

// gaveUp adds to err that the context ended.
func gaveUp(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, ctx.Err())
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
		return resp.Value{}, dialError(n, err)
	}
	return conn.roundTrip(ctx, n, r)
}

func (c *conn) roundTrip(ctx context.Context, n *node, r *request) (resp.Value, error) {
	calls, err := c.send(r)
	if err != nil {
		return resp.Value{}, turn.Errorf(turn.Unavailable, "connection to %s: %v; nothing was sent", n.addr, err)
	}
	v, sent, err := calls[0].wait(ctx)
	switch {
	case err == nil:
		return v, replyError(v)
	case sent && r.again != harmless:
		return v, lost(turn.Unknown, n, r, err, "it may have been carried out")
	default:
		return v, lost(turn.Unavailable, n, r, err, "nothing was changed")
	}
}

func lost(k turn.Kind, n *node, r *request, err error, consequence string) error {
	return fmt.Errorf("%w: %w",
		turn.Errorf(k, "no answer to %s from %s; %s", verbs[r.verb].command, n.addr, consequence), err)
}

// dialError says why a node could not be reached, and whether trying again may help.
func dialError(n *node, err error) error {
	if e := resp.Error(""); errors.As(err, &e) {
		return fmt.Errorf("%s rejects the connection: %w", n.addr, errorReply(e))
	}
	return fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "%s cannot be reached", n.addr), err)
}

// replyError returns the error that v is, nil if it is none.
func replyError(v resp.Value) error {
	if e, ok := v.Err().(resp.Error); ok {
		return errorReply(e)
	}
	return nil
}

// errorReply translates an error reply. Codes that are not turnlog's are Redis's.
func errorReply(e resp.Error) *turn.Error {
	if k, ok := turn.ParseKind(e.Code()); ok {
		t := &turn.Error{Kind: k, Message: e.Message()}
		if rest, ok := strings.CutPrefix(t.Message, "revision="); ok {
			digits, text, _ := strings.Cut(rest, " ")
			t.Revision = parseUint(digits)
			t.Message = text
		}
		return t
	}
	switch e.Code() {
	case "ERR":
		if strings.HasPrefix(e.Message(), "max number of clients") {
			return turn.Errorf(turn.Unavailable, "%s", e.Message())
		}
	case "NOAUTH", "WRONGPASS":
		return turn.Errorf(turn.Unauthorized, "%s", e.Message())
	case "NOPERM":
		return turn.Errorf(turn.Forbidden, "%s", e.Message())
	case "LOADING":
		return turn.Errorf(turn.Unavailable, "%s", e.Message())
	case "OOM":
		return turn.Errorf(turn.Overloaded, "%s", e.Message())
	case "READONLY", "MISCONF":
		return turn.Errorf(turn.ReadOnly, "%s", e.Message())
	case "WRONGTYPE":
		return turn.Errorf(turn.WrongType, "%s", e.Message())
	}
	return turn.Errorf(turn.Invalid, "%s", string(e))
}
