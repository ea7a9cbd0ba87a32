package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func (c *conn) roundTrip(ctx context.Context, n *node, r *request) (resp.Value, error) {
	requests := []*request{r}
	if r.trace != nil {
		requests = []*request{r.trace, r}
	}
	calls, err := c.send(requests...)
	if err != nil {
		return resp.Value{}, fmt.Errorf("%w: %w",
			turn.Errorf(turn.Unavailable, "%s was not sent to %s", verbs[r.verb].command, n.addr), err)
	}
	v, sent, err := calls[len(calls)-1].wait(ctx)
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
		return rejection(n, e)
	}
	if byCaller(ctx, err) {
		return fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "nothing was sent to %s", n.addr), err)
	}
	failed := turn.Errorf(turn.Unavailable, "%s cannot be reached", n.addr)
	explained, lasts := whyNot(err)
	switch {
	case lasts:
		return lasting{fmt.Errorf("%w (%s): %w", failed, explained, err)}
	case explained != "":
		return fmt.Errorf("%w (%s): %w", failed, explained, err)
	}
	return fmt.Errorf("%w: %w", failed, err)
}

// rejection is the error of a connection that a node answers with e.
func rejection(n *node, e resp.Error) error {
	reply := errorReply(e)
	if e.Code() == "NOAUTH" {
		reply.Message = "it has users, and neither a user nor a password is given"
	}
	err := fmt.Errorf("%s rejects the connection: %w", n.addr, reply)
	if lastingReply(e.Code(), reply.Kind) {
		return lasting{err}
	}
	return err
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
		if rest, ok := strings.CutPrefix(e.Message(), "unknown command '"); ok {
			command, _, _ := strings.Cut(rest, "'") // the rest repeats what was sent
			return older(command)
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

// older is the error of a command that the server does not have.
func older(command string) *turn.Error {
	return turn.Errorf(turn.Invalid, "the server does not know %s, so nothing was changed: it is older than this "+
		"client (then upgrade its nodes, or use an older client), or it is no turnlog", command)
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
