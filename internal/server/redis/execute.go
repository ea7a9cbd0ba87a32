package redis

import (
	"errors"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/inflight"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/throttle"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// execute performs an action and puts its reply in line. cmd is nil if there is no such
// command. It reports whether another request may follow.
func (c *conn) execute(cmd *command.Command, a command.Action, bytes int) (more bool) {
	call := c.begin(cmd, a)
	if c.srv.cfg.Tracer != nil {
		c.trace(&call, a)
	}
	more = true
	var s started
	switch a := a.(type) {
	case command.Reply:
		s = known(a, nil)
	case command.Error:
		s = known(nil, a)
	case command.Last:
		c.client.Vanish()
		more = false
		s = known(a.Reply, nil)
	case command.Gate:
		s = atGate()
	case *command.Write:
		s = c.write(a)
	case *command.Read:
		s = c.read(a)
	case *command.Work:
		s = c.work(a)
	case *command.Wait:
		s = c.launchWait(cmd, a)
	case *command.Publish:
		s = c.publish(a)
	case *command.Follow:
		s = c.tail(a)
	}
	c.put(call, s, bytes)
	return more
}

// put puts the reply to a request of so many bytes in line.
func (c *conn) put(call call, s started, bytes int) {
	if s.gate {
		call.count(false)
		c.replies.Put(replies.Owed{Bytes: bytes})
		return
	}
	c.replies.Put(replies.Owed{Bytes: bytes, Ready: s.ready, Write: func(w *resp.Writer) {
		defer s.held.release()
		defer c.order.Release(s.weight)
		r, err := s.outcome()
		call.answer(w, r, err)
	}})
}

// call is a request whose action is performed.
type call struct {
	c         *conn
	cmd       *command.Command
	begun     time.Time
	mute      bool
	waits     bool // by its nature, for what others do
	user      string
	key       turn.Key // the first that it concerns; empty if it concerns none
	pipelined inflight.Pipelined
	span      *trace.Active // nil: it is not traced
}

// begin notes that an action is about to be performed.
func (c *conn) begin(cmd *command.Command, a command.Action) call {
	b := call{c: c, cmd: cmd, begun: c.srv.cfg.Now(), mute: c.silence.take(), user: c.who.login.Name}
	b.key, b.waits = subject(a)
	b.pipelined = c.pipeline.Note(a, c.replies.Owing, c.unread())
	return b
}

// answer writes the reply to the request.
func (b *call) answer(w *resp.Writer, r command.Reply, err error) {
	b.count(err != nil)
	b.endSpan(err)
	switch {
	case b.mute || errors.Is(err, command.ErrLeft):
	case err != nil:
		w.Error(b.pipelined.ErrorText(err, b.cmd != nil && b.cmd.Native))
	default:
		r(w)
	}
}

func (b *call) count(failed bool) {
	now := b.c.srv.cfg.Now()
	b.c.srv.stats.count(b.cmd, now.Sub(b.begun), failed)
	if b.cmd != nil && !b.waits {
		b.c.srv.slow.Note(now, now.Sub(b.begun), func() []any {
			return []any{"command", b.cmd.Name, "namespace", b.key.Namespace, "key", throttle.Excerpt(b.key.Name),
				"failed", failed, "user", b.user, "client", b.c.wire.Remote()}
		})
	}
}

// subject returns the first key that an action concerns, and whether it may wait for what other clients do.
func subject(a command.Action) (k turn.Key, waits bool) {
	var keys []turn.Key
	switch a := a.(type) {
	case *command.Write:
		keys = a.Keys
	case *command.Read:
		keys = a.Keys
	case *command.Work:
		keys = a.Keys
	case *command.Wait, *command.Follow:
		waits = true
	}
	if len(keys) > 0 {
		k = keys[0]
	}
	return k, waits
}
