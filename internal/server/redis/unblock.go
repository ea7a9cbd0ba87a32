package redis

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
)

// block is the request that blocks its connection. CLIENT LIST shows whether it waits,
// and CLIENT UNBLOCK ends its wait. Between its waits it looks whether it has what it
// waits for; requests about it are answered when that is known, as in Redis, where it
// takes no time.
type block struct {
	mu      sync.Mutex
	changed sync.Cond
	command string   // of the request; empty: there is none
	waited  bool     // it waits, or has
	held    bool     // something is taken for it, perhaps by another request: see command.waitQueues
	now     *waiting // nil: it does not wait now
}

type waiting struct {
	end     context.CancelFunc
	ended   bool // by CLIENT UNBLOCK
	refusal error
}

// beginBlock says that a request has begun that may block the connection.
func (c *conn) beginBlock(name string) {
	c.block.mu.Lock()
	defer c.block.mu.Unlock()
	c.block.command = name
}

// endBlock says that it has ended.
func (c *conn) endBlock() {
	b := &c.block
	b.mu.Lock()
	name, waited := b.command, b.waited
	b.command, b.waited, b.held, b.now = "", false, false, nil
	b.changed.Broadcast()
	b.mu.Unlock()
	if waited {
		c.srv.blocked.Add(-1)
		return
	}
	c.show(name)
}

// waitAtMost waits at most d for a change or for the end of gone. If it is ended by CLIENT
// UNBLOCK, it returns an error, or sets until to zero, a time that is over.
func (c *conn) waitAtMost(changed <-chan struct{}, d time.Duration, until *time.Time) error {
	ctx, cancel := context.WithCancel(c.gone)
	defer cancel()
	w := &waiting{end: cancel}
	if b := &c.block; b.wait(w) {
		c.srv.blocked.Add(1)
		c.show(b.command)
	}
	wait(ctx, changed, d)
	c.block.look()
	if w.ended {
		*until = time.Time{}
	}
	return w.refusal
}

// wait reports whether the request waits for the first time.
func (b *block) wait(w *waiting) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first = !b.waited
	b.now, b.waited = w, true
	b.changed.Broadcast()
	return first
}

// look says that the wait is over, and that it is not known yet whether there will be
// another.
func (b *block) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = nil
}

// waits reports whether the request waits.
func (b *block) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited
}

// hold keeps the wait from being ended until release, because something is being taken
// for the request. It reports false if it has been ended.
func (b *block) hold() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = b.now == nil || !b.now.ended
	return b.held
}

func (b *block) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	b.changed.Broadcast()
}

// end ends the wait, as its time would, or with an error. It reports whether there was
// one. While that is not known it waits.
func (b *block) end(refusal error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.command != "" {
		switch {
		case b.now == nil || b.held:
			b.changed.Wait()
		case b.now.ended:
			return false
		default:
			b.now.ended, b.now.refusal = true, refusal
			b.now.end()
			return true
		}
	}
	return false
}

const errUnblocked = command.Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")

// clientUnblock is CLIENT UNBLOCK id [TIMEOUT|ERROR].
func clientUnblock(c *conn, args [][]byte) command.Action {
	if len(args) > 4 {
		return command.ErrSyntax
	}
	var refusal error
	if len(args) == 4 {
		switch {
		case command.Is(args[3], "ERROR"):
			refusal = errUnblocked
		case !command.Is(args[3], "TIMEOUT"):
			return command.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, ok := command.ParseInt(args[2])
	if !ok {
		return command.ErrNotInteger
	}
	return command.Alone(func(context.Context) (command.Reply, error) {
		n := uint64(0)
		for _, other := range c.srv.clients() {
			if int64(other.id) == id && other.block.end(refusal) {
				n = 1
			}
		}
		return command.Count(n), nil
	})
}
