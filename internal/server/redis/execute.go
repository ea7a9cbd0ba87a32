package redis

import (
	"errors"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
)

// execute performs an action and puts its reply in line. cmd is nil if there is no such
// command. It reports whether another request may follow.
func (c *conn) execute(cmd *command, a Action, bytes int) (more bool) {
	call := c.begin(cmd, a)
	more = true
	var s started
	switch a := a.(type) {
	case Reply:
		s = known(a, nil)
	case Error:
		s = known(nil, a)
	case Last:
		c.vanish()
		more = false
		s = known(a.Reply, nil)
	case Gate:
		call.count(false)
		c.replies.put(owed{bytes: bytes})
		return true
	case *Write:
		if c.inlines(a.Keys) {
			call.now(c.writeNow(a))
			return true
		}
		s = c.submit(a)
	case *Read:
		if c.inlines(a.Keys) {
			call.now(c.readNow(a))
			return true
		}
		s = c.launch(c.readTask(a))
	case *Work:
		if c.inlines(a.Keys) {
			call.now(c.workNow(a))
			return true
		}
		s = c.launch(task{keys: a.Keys, bulky: a.Bulky, run: unseen(a.Run)})
	case *Wait:
		s = c.launchWait(cmd, a)
	case *Publish:
		s = c.publish(&a.message)
	}
	c.replies.put(owed{bytes: bytes, ready: s.ready, write: func(w *resp.Writer) {
		if s.written != nil {
			defer s.written()
		}
		r, err := s.outcome()
		call.answer(w, r, err)
	}})
	return more
}

// call is a request whose action is performed.
type call struct {
	c         *conn
	cmd       *command
	begun     time.Time
	mute      bool
	pipelined pipelined
}

// begin notes that an action is about to be performed.
func (c *conn) begin(cmd *command, a Action) call {
	b := call{c: c, cmd: cmd, begun: c.srv.cfg.Now(), mute: c.quiet || c.skip > 0}
	c.skip = max(0, c.skip-1)
	b.pipelined = c.note(a)
	return b
}

// now answers at once, when nothing else is owed.
func (b *call) now(r Reply, err error) { b.answer(b.c.replies.w, r, err) }

// answer writes the reply to the request.
func (b *call) answer(w *resp.Writer, r Reply, err error) {
	b.count(err != nil)
	switch {
	case b.mute || errors.Is(err, errLeft):
	case err != nil:
		w.Error(b.pipelined.errorText(b.c, err, b.cmd != nil && b.cmd.native))
	default:
		r(w)
	}
}

func (b *call) count(failed bool) {
	b.c.srv.stats.count(b.cmd, b.c.srv.cfg.Now().Sub(b.begun), failed)
}
