package redis

import (
	"context"
	"sync"
	"time"
)

// forever is how long a request waits that is to wait as long as it takes.
const forever = 100 * 365 * 24 * time.Hour

// block is the wait of a request that blocks its connection. CLIENT UNBLOCK ends it.
type block struct {
	mu  sync.Mutex
	now *waiting // nil: there is none
}

type waiting struct {
	end     context.CancelFunc
	ended   bool // by CLIENT UNBLOCK
	refusal error
}

// waitFor waits for a change, for the client to go, or until a time. If it is ended by
// CLIENT UNBLOCK, it returns an error, or sets until to a time that is over.
func (c *conn) waitFor(changed <-chan struct{}, until *time.Time) error {
	ctx, cancel := context.WithCancel(c.gone)
	defer cancel()
	w := &waiting{end: cancel}
	c.block.set(w)
	c.srv.blocked.Add(1) // who is counted as blocked can be unblocked
	defer c.srv.blocked.Add(-1)
	wait(ctx, changed, until.Sub(c.srv.cfg.Now()))
	c.block.set(nil)
	if w.ended {
		*until = time.Time{}
	}
	return w.refusal
}

func (b *block) set(w *waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = w
}

// end ends the wait, as its time would, or with an error. It reports whether there was one.
func (b *block) end(refusal error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		return false
	}
	b.now.ended, b.now.refusal = true, refusal
	b.now.end()
	b.now = nil
	return true
}

const errUnblocked = replyError("UNBLOCKED client unblocked via CLIENT UNBLOCK")

// clientUnblock is CLIENT UNBLOCK id [TIMEOUT|ERROR].
func clientUnblock(c *conn, args [][]byte) action {
	if len(args) > 4 {
		return refuse(errSyntax)
	}
	var refusal error
	if len(args) == 4 {
		switch {
		case is(args[3], "ERROR"):
			refusal = errUnblocked
		case !is(args[3], "TIMEOUT"):
			return refuse("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, ok := parseInt(args[2])
	if !ok {
		return refuse(errNotInteger)
	}
	for _, other := range c.srv.clients() {
		if int64(other.id) == id && other.block.end(refusal) {
			return integer(1)
		}
	}
	return integer(0)
}
