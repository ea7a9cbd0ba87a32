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
		c.retrying(err, start)
		if !c.sleep(ctx, rand.N(pause)+pause/2) {
			return v, gaveUp(ctx, settle(uncertain, err))
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
		return resp.Value{}, dialError(ctx, n, err)
	}
	return conn.roundTrip(ctx, n, r)
}

func (c *conn) roundTrip(ctx context.Context, n *node, r *request) (resp.Value, error) {
	calls, err := c.send(r)
	if err != nil {
		return resp.Value{}, fmt.Errorf("%w: %w",
			turn.Errorf(turn.Unavailable, "%s was not sent to %s", verbs[r.verb].command, n.addr), err)
	}
	v, sent, err := calls[0].wait(ctx)
	switch {
	case err == nil:
		return v, replyError(v)
	case sent && r.again != harmless:
		return v, lost(ctx, turn.Unknown, n, r, err)
	default:
		return v, lost(ctx, turn.Unavailable, n, r, err)
	}
}

// lost is the error of a request that has no answer because of err, and of kind k: Unknown if it may have
// been carried out.
func lost(ctx context.Context, k turn.Kind, n *node, r *request, err error) error {
	consequence := "nothing was changed"
	if k == turn.Unknown {
		consequence = "it may have been carried out"
	}
	text := "no answer to %s from %s; %s"
	if byCaller(ctx, err) {
		text = "%s was given up before %s answered; %s"
	}
	return fmt.Errorf("%w: %w", turn.Errorf(k, text, verbs[r.verb].command, n.addr, consequence), err)
}

// byCaller reports whether err is the caller's doing, and neither a node's nor the network's.
func byCaller(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrClosed)
}

// dialError says why a node could not be reached, and whether trying again may help.
func dialError(ctx context.Context, n *node, err error) error {
	if e := resp.Error(""); errors.As(err, &e) {
		return fmt.Errorf("%s rejects the connection: %w", n.addr, errorReply(e))
	}
	if byCaller(ctx, err) {
		return fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "nothing was sent to %s", n.addr), err)
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
		t.Revision = cutNumber(&t.Message, "revision=")
		t.Condition = int(cutNumber(&t.Message, "condition="))
		t.Step = int(cutNumber(&t.Message, "step="))
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

// cutNumber takes a number with its name off the beginning of a text.
func cutNumber(text *string, name string) uint64 {
	rest, ok := strings.CutPrefix(*text, name)
	if !ok {
		return 0
	}
	digits, rest, _ := strings.Cut(rest, " ")
	*text = rest
	return parseUint(digits)
}
