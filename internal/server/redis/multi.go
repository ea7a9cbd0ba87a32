package redis

import (
	"context"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

const (
	errNested      command.Error = "ERR MULTI calls can not be nested"
	errNoMulti     command.Error = "ERR EXEC without MULTI"
	errNoDiscard   command.Error = "ERR DISCARD without MULTI"
	errWatchWithin command.Error = "ERR WATCH inside MULTI is not allowed"
	errNotWithin   command.Error = "ERR Command not allowed inside a transaction"
	errExecAbort   command.Error = "EXECABORT Transaction discarded because of previous errors."
)

func multi(c *conn, _ [][]byte) command.Action {
	if c.tx.open != nil {
		return errNested
	}
	c.tx.open = new(transaction)
	return command.Status("OK")
}

func discard(c *conn, _ [][]byte) command.Action {
	if c.tx.open == nil {
		return errNoDiscard
	}
	c.tx.forget()
	return command.Status("OK")
}

func watch(c *conn, args [][]byte) command.Action {
	if c.tx.open != nil {
		return errWatchWithin
	}
	if len(c.tx.watched)+len(args) > turn.MaxSteps {
		return command.Error(command.ErrorText(turn.Errorf(turn.TooLarge, "at most %d keys can be watched",
			turn.MaxSteps), false))
	}
	room := 0
	for _, a := range args[1:] {
		room += len(a) + watchedOverhead
	}
	if !c.memory.Take(room) {
		return errCrowded
	}
	c.tx.watching += room
	var ws []*watched
	for _, a := range args[1:] {
		ws = append(ws, &watched{Watched: turn.Watched{Key: c.key(a)}})
	}
	c.tx.watched = append(c.tx.watched, ws...)
	return command.AloneLinearizable(func(ctx context.Context) (command.Reply, error) {
		index := uint64(0)
		for _, w := range ws {
			r, err := c.srv.backend.Since(ctx, index, command.InfoOf(w.Key))
			if err != nil {
				return nil, err
			}
			if r.Session != nil {
				w.Revision = r.Session.Revision
			}
			w.known = true
			index = r.Index
		}
		return command.Status("OK"), nil
	})
}

// unwatch in a transaction comes too late, as in Redis.
func unwatch(c *conn, _ [][]byte) command.Action {
	if c.tx.open == nil {
		c.tx.unwatch()
	}
	return command.Status("OK")
}

// passes reports whether a command is done at once within a transaction.
func passes(cmd *command.Command) bool {
	switch cmd.Name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

// enqueue queues a request; err says why it cannot be handled.
func (c *conn) enqueue(cmd *command.Command, args [][]byte, err command.Error, bytes int) command.Action {
	t := c.tx.open
	q := queued{cmd: cmd, steps: 0}
	switch {
	case err != "":
	case cmd.Stateful:
		err = errNotWithin
	case t.bytes+bytes > c.srv.cfg.PipelineBytes:
		err = command.Error(command.ErrorText(turn.Errorf(turn.TooLarge, "the transaction has more than %d bytes",
			c.srv.cfg.PipelineBytes), false))
	case !c.memory.Take(bytes + queuedOverhead):
		err = errCrowded
	default:
		c.tx.queueing += bytes + queuedOverhead
		q.action = c.dispatch(cmd, args)
		switch q.steps = countSteps(q.action); {
		case !inTransaction(q.action):
			err = errNotWithin
		case t.steps+max(1, q.steps) > turn.MaxSteps:
			err = command.Error(command.ErrorText(turn.Errorf(turn.TooLarge, "the transaction has more than %d steps",
				turn.MaxSteps), false))
		}
	}
	if err != "" {
		t.dirty = true
		return err
	}
	t.queue = append(t.queue, q)
	t.steps += max(1, q.steps)
	t.bytes += bytes
	return command.Status("QUEUED")
}

// execute is EXEC: it makes one operation of the queue. Watched keys are compared when it is
// applied.
func execute(c *conn, _ [][]byte) command.Action {
	t, ws := c.tx.open, c.tx.watched
	if t == nil {
		return errNoMulti
	}
	c.tx.forget()
	if t.dirty {
		return errExecAbort
	}
	tx := new(turn.Tx)
	if len(ws) > 0 {
		c.awaitBarrier() // of the WATCH
	}
	for _, w := range ws {
		if !w.known {
			return command.NullArray()
		}
		tx.Watch = append(tx.Watch, w.Watched)
	}
	limits := c.srv.engine.Limits()
	a := &command.Write{Op: tx}
	for i := range t.queue {
		q := &t.queue[i]
		a.Keys = append(a.Keys, q.addTo(tx, limits)...)
	}
	a.Done = func(w *resp.Writer, r turn.Result) {
		if r.Aborted {
			w.NullArray()
			return
		}
		w.Array(len(t.queue))
		for i := range t.queue {
			q := &t.queue[i]
			q.write(w, r.Steps[:q.steps])
			r.Steps = r.Steps[q.steps:]
		}
	}
	switch {
	case publishes(t.queue):
		return c.executePublishing(a, t.queue)
	case len(tx.Steps)+len(tx.Watch) == 0:
		return command.Reply(func(w *resp.Writer) { a.Done(w, turn.Result{}) })
	}
	return a
}
