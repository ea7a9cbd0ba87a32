package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/turnlog/turnlog/turn"
)

var linearizable = turn.Consistency{Level: turn.Linearizable}

// tailBlock is how long the server holds back an empty answer.
const tailBlock = 5 * time.Second

// Tail yields every message with a seq above after, once and in order: first those that exist, then
// each new one as it is committed. It continues across lost connections and failing nodes. After an
// outage longer than Config.RetryFor, or when ctx ends, it yields an error and stops; in the latter
// case, the error wraps that of the context. It follows the key: if the session is deleted, has
// expired, or is renamed, it continues with the first message of the next session of that key; so it does if
// another session is renamed to the key. It does not announce edits
// and removals of messages that it has already yielded.
//
// A Tail uses a connection of its own while it is ranged over.
func (s Session) Tail(ctx context.Context, after uint64) iter.Seq2[turn.Message, error] {
	return func(yield func(turn.Message, error) bool) {
		t := &tail{s: s, after: after, yield: yield}
		for !t.done {
			t.follow(ctx)
		}
	}
}

// tail is where a Tail has arrived.
type tail struct {
	s           Session
	after       uint64
	incarnation uint64 // of the session that after belongs to; 0: not known yet
	yield       func(turn.Message, error) bool
	done        bool
	down        time.Time // since when nothing was answered; zero: it was
	pause       time.Duration
	nodes       tried // since then
}

// follow tails over one connection until it fails or the consumer stops.
func (t *tail) follow(ctx context.Context) {
	c := t.s.c
	n := c.router.pick()
	err := c.onOwnConnection(ctx, n, tailBlock+c.cfg.StallTimeout, func(own *conn) error { return t.read(ctx, n, own) })
	if t.done {
		return
	}
	if c.ended(ctx) != nil {
		t.stop(t.ended(ctx))
		return
	}
	if errors.Is(err, ErrClosed) {
		t.stop(err)
		return
	}
	switch k := turn.KindOf(err); {
	case k == turn.Unavailable, k == turn.Overloaded, k == turn.Unknown, isLasting(err):
		c.router.failed(n)
	default:
		t.stop(err)
		return
	}
	if t.down.IsZero() {
		t.down, t.pause, t.nodes = time.Now(), backoffFirst, nil
	}
	t.nodes.note(n.addr, err)
	if time.Since(t.down) > c.cfg.RetryFor || t.nodes.last(c.router.size()) {
		t.stop(t.nodes.all(n.addr, err))
		return
	}
	c.retrying(err, t.down)
	if !c.sleep(ctx, t.pause) {
		t.stop(t.ended(ctx))
	}
	t.pause = min(2*t.pause, backoffMost)
}

// ended is the error of a tail that the caller ended.
func (t *tail) ended(ctx context.Context) error {
	return fmt.Errorf("%w: %w", turn.Errorf(turn.Unavailable, "the tail ended after seq %d", t.after),
		t.s.c.ended(ctx))
}

func (t *tail) stop(err error) {
	t.done = true
	t.yield(turn.Message{}, err)
}

// read reads what is there, then waits for more, and so on. Each wait and the
// read after it go out together. A read after one that found something asks the
// node itself, which has seen what ended the wait; it may be behind the leader
// that answered before, and take passes over what is older than what it has. The
// others are linearizable, lest a node that lags show nothing again and again.
func (t *tail) read(ctx context.Context, n *node, own *conn) error {
	s := t.s
	waiting := false
	for s.fresh = linearizable; ; {
		requests := []*request{s.readRequest(turn.Read{From: turn.FromAfter, Seq: t.after, Limit: pageMessages,
			MaxBytes: pageBytes})}
		if waiting {
			wait := s.request(vTail).strings("AFTER").uint(t.after).strings("COUNT", "1",
				"BLOCK").int(tailBlock.Milliseconds())
			requests = []*request{wait, requests[0]}
		}
		h, err := t.round(ctx, n, own, requests)
		if err != nil {
			return err
		}
		s.c.router.worked(n)
		t.down = time.Time{}
		if t.take(h); t.done {
			return nil
		}
		waiting = !h.More
		s.fresh = linearizable
		if len(h.Messages) > 0 {
			s.fresh = turn.Consistency{Level: turn.Stale}
		}
	}
}

// round sends requests and returns what the last one, a read, found.
func (t *tail) round(ctx context.Context, n *node, own *conn, requests []*request) (h History, err error) {
	calls, err := own.send(requests...)
	if err != nil {
		return h, lost(ctx, turn.Unavailable, n, requests[0], err)
	}
	for i, cl := range calls {
		v, _, err := cl.wait(ctx)
		if err != nil {
			return h, lost(ctx, turn.Unavailable, n, requests[i], err)
		}
		if err := replyError(v); err != nil {
			return h, err
		}
		if i == len(calls)-1 {
			return decodeHistory(v)
		}
	}
	return h, nil
}

// take yields the messages of h, unless they belong to another session than the
// one that was followed: then the next read begins at that one's start.
func (t *tail) take(h History) {
	known := t.incarnation != 0
	if h.Incarnation < t.incarnation || known && h.Incarnation == t.incarnation && h.Last < t.after {
		return // deleted, or this node has yet to come to what the leader told before
	}
	restarted := known && h.Incarnation > t.incarnation
	t.incarnation = h.Incarnation
	if restarted || h.Last < t.after { // the second: after comes from an earlier session
		t.after = 0
		return
	}
	for _, m := range h.Messages {
		t.after = m.Seq
		if !t.yield(m, nil) {
			t.done = true
			return
		}
	}
}
