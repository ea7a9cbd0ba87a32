package redis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

const (
	// maxTails is how many sessions one connection may follow.
	maxTails = 100
	// tailPause is how long a tail waits after a failed query, as while there is no
	// leader.
	tailPause = 100 * time.Millisecond
)

// pushTail is a TURN.TAIL … PUSH: it follows a session and pushes what is
// appended, until it is stopped. It has one frame on its way at a time.
type pushTail struct {
	c           *conn
	q           turn.Read
	incarnation uint64               // of the session as the client knows it; 0: none
	refused     func() command.Error // whether the user may not read it any more
	cancel      context.CancelFunc
	ended       chan struct{} // closed when run has returned
}

// tail follows a session from now on, in place of an earlier tail of it. The answer is a gate,
// unless it is refused.
func (c *conn) tail(f *command.Follow) started {
	k := f.Read.Key
	switch {
	case c.proto < 3:
		return known(nil, command.Invalid("PUSH needs RESP3: say HELLO 3 before"))
	case c.tails[k] == nil && len(c.tails) >= maxTails:
		return known(nil, turn.Errorf(turn.TooLarge, "a connection can follow at most %d sessions", maxTails))
	}
	c.shareReplies()
	c.tails.stop(k)
	if c.tails == nil {
		c.tails = make(tails)
	}
	ctx, cancel := context.WithCancel(c.wire.Gone())
	t := &pushTail{c: c, q: f.Read, incarnation: f.Incarnation, refused: f.Refused, cancel: cancel,
		ended: make(chan struct{})}
	c.tails[k] = t
	c.replies.Push(replies.Push{Gate: true, Write: command.Status("OK")})
	go func() {
		defer close(t.ended)
		t.run(ctx)
	}()
	return atGate()
}

// tails are those of a connection, by what they follow.
type tails map[turn.Key]*pushTail

func (ts tails) stop(k turn.Key) (stopped bool) {
	t := ts[k]
	if t == nil {
		return false
	}
	t.cancel()
	<-t.ended
	delete(ts, k)
	return true
}

func (ts tails) stopAll() {
	for k := range ts {
		ts.stop(k)
	}
}

// turnUntail is TURN.UNTAIL [key …]. Nothing is pushed after its answer.
func turnUntail(c *conn, args [][]byte) command.Action {
	c.awaitBarrier()
	n := int64(0)
	if len(args) == 1 {
		n = int64(len(c.tails))
		c.tails.stopAll()
	}
	for _, name := range args[1:] {
		if c.tails.stop(c.key(name)) {
			n++
		}
	}
	if !c.replies.Shared {
		return command.Integer(n)
	}
	c.replies.Push(replies.Push{Gate: true, Write: func(w *resp.Writer) { w.Int(n) }})
	return command.Gate{}
}

// run pushes frames until ctx ends. A query that fails is made again: whatever
// happens to leaders meanwhile, the messages go on where they were.
func (t *pushTail) run(ctx context.Context) {
	srv := t.c.srv
	changed, stop := srv.engine.Watch(t.q.Key)
	defer stop()
	index := uint64(0)
	for ctx.Err() == nil && t.refused() == "" {
		r, err := srv.backend.Since(ctx, index, &t.q)
		if err != nil && turn.KindOf(err) != turn.WrongType {
			signal.Wait(ctx, nil, tailPause)
			continue
		}
		index = max(index, r.Index)
		news := t.renew(r.Session)
		if news && t.q.Seq > 0 {
			t.q.Seq = 0
			continue // read the new session from its beginning
		}
		if news && r.Session == nil || len(r.Messages) > 0 {
			if t.refused() != "" || !t.send(ctx, r.Messages) { // the messages may have come after the right went
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// renew notes whose messages come now, and reports whether that is another
// session than before, or none any more.
func (t *pushTail) renew(s *turn.Session) bool {
	switch {
	case s == nil:
		had := t.incarnation != 0
		t.incarnation, t.q.Seq = 0, 0
		return had
	case t.incarnation == s.Incarnation:
		return false
	}
	recreated := t.incarnation != 0 || s.Last < t.q.Seq
	t.incarnation = s.Incarnation
	return recreated
}

// send pushes a frame and waits until it is written. It reports whether it was.
func (t *pushTail) send(ctx context.Context, ms []turn.Message) bool {
	sent := make(chan struct{})
	bytes := int64(pubsub.PushOverhead)
	for i := range ms {
		bytes += int64(len(ms[i].Data)) + pubsub.PushOverhead
	}
	key, incarnation := t.q.Key.Name, t.incarnation
	// It does not count as what waits for a subscriber: there is only one.
	t.c.replies.Push(replies.Push{Share: bytes, Write: func(w *resp.Writer) {
		w.Push(4)
		w.BulkString("turn.tail")
		w.BulkString(key)
		w.Int(int64(incarnation))
		command.WriteMessages(w, ms)
		close(sent)
	}})
	select {
	case <-sent:
	case <-ctx.Done():
		return false
	}
	if len(ms) > 0 {
		t.q.Seq = ms[len(ms)-1].Seq
	}
	return true
}
