package redis

import (
	"context"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

const (
	errNested      replyError = "ERR MULTI calls can not be nested"
	errNoMulti     replyError = "ERR EXEC without MULTI"
	errNoDiscard   replyError = "ERR DISCARD without MULTI"
	errWatchWithin replyError = "ERR WATCH inside MULTI is not allowed"
	errNotWithin   replyError = "ERR Command not allowed inside a transaction"
	errExecAbort   replyError = "EXECABORT Transaction discarded because of previous errors."
)

// transaction is what a connection has queued since MULTI.
type transaction struct {
	queue []queued
	steps int
	bytes int  // of the requests
	dirty bool // one was refused: EXEC does nothing
}

// queued is a request as EXEC does it. Its handler has run already: handlers of
// what may be queued change nothing.
type queued struct {
	cmd *command
	action
	steps int // of the transaction that are its own
}

// watched is a key that WATCH looked at. It belongs to the goroutine that looks
// until the connection's barrier is past.
type watched struct {
	turn.Watched
	known bool
}

func multi(c *conn, _ [][]byte) action {
	if c.tx != nil {
		return refuse(errNested)
	}
	c.tx = new(transaction)
	return status("OK")
}

func discard(c *conn, _ [][]byte) action {
	if c.tx == nil {
		return refuse(errNoDiscard)
	}
	c.tx, c.watched = nil, nil
	return status("OK")
}

func watch(c *conn, args [][]byte) action {
	if c.tx != nil {
		return refuse(errWatchWithin)
	}
	if len(c.watched)+len(args) > turn.MaxSteps {
		return refuse(replyError(errorText(turn.Errorf(turn.TooLarge, "at most %d keys can be watched", turn.MaxSteps), false)))
	}
	var ws []*watched
	for _, a := range args[1:] {
		ws = append(ws, &watched{Watched: turn.Watched{Key: c.key(a)}})
	}
	c.watched = append(c.watched, ws...)
	return alone(func(ctx context.Context) (reply, error) {
		index := uint64(0)
		for _, w := range ws {
			r, err := c.srv.since(ctx, index, infoOf(w.Key))
			if err != nil {
				return nil, err
			}
			if r.Session != nil {
				w.Revision = r.Session.Revision
			}
			w.known = true
			index = r.Index
		}
		return sayStatus("OK"), nil
	})
}

// unwatch in a transaction comes too late, as in Redis.
func unwatch(c *conn, _ [][]byte) action {
	if c.tx == nil {
		c.watched = nil
	}
	return status("OK")
}

// passes reports whether a command is done at once within a transaction.
func (cmd *command) passes() bool {
	switch cmd.name {
	case "multi", "exec", "discard", "watch", "quit", "reset":
		return true
	}
	return false
}

// enqueue queues a request; err says why it cannot be handled.
func (c *conn) enqueue(cmd *command, args [][]byte, err replyError, bytes int) action {
	t := c.tx
	q := queued{cmd: cmd, steps: 0}
	switch {
	case err != "":
	case cmd.stateful:
		err = errNotWithin
	case t.bytes+bytes > c.srv.cfg.PipelineBytes:
		err = replyError(errorText(turn.Errorf(turn.TooLarge, "the transaction has more than %d bytes", c.srv.cfg.PipelineBytes), false))
	default:
		q.action = cmd.handle(c, args)
		q.steps = q.count()
		switch {
		case q.work != nil && q.queries == nil:
			err = errNotWithin
		case t.steps+max(1, q.steps) > turn.MaxSteps:
			err = replyError(errorText(turn.Errorf(turn.TooLarge, "the transaction has more than %d steps", turn.MaxSteps), false))
		}
	}
	if err != "" {
		t.dirty = true
		return refuse(err)
	}
	t.queue = append(t.queue, q)
	t.steps += max(1, q.steps)
	t.bytes += bytes
	return status("QUEUED")
}

// count returns how many steps a takes.
func (a *action) count() int {
	switch op := a.op.(type) {
	case nil:
		return len(a.queries)
	case *turn.Tx:
		return len(op.Steps)
	}
	return 1
}

// execute is EXEC: it makes one operation of the queue. Watched keys are compared when it is
// applied.
func execute(c *conn, _ [][]byte) action {
	t, ws := c.tx, c.watched
	if t == nil {
		return refuse(errNoMulti)
	}
	c.tx, c.watched = nil, nil
	if t.dirty {
		return refuse(errExecAbort)
	}
	tx := new(turn.Tx)
	if len(ws) > 0 {
		c.await(c.barrier) // of the WATCH
	}
	for _, w := range ws {
		if !w.known {
			return say((*resp.Writer).NullArray)
		}
		tx.Watch = append(tx.Watch, w.Watched)
	}
	limits := c.srv.engine.Limits()
	a := action{op: tx}
	for i := range t.queue {
		q := &t.queue[i]
		q.addTo(tx, limits)
		a.keys = append(a.keys, q.keys...)
	}
	a.done = func(w *resp.Writer, r turn.Result) {
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
		return say(func(w *resp.Writer) { a.done(w, turn.Result{}) })
	}
	return a
}

// addTo adds the steps of q. One that is malformed is refused by itself.
func (q *queued) addTo(tx *turn.Tx, limits turn.Limits) {
	var steps []turn.Step
	switch op := q.op.(type) {
	case nil:
		for _, query := range q.queries {
			steps = append(steps, turn.Step{Query: query})
		}
	case *turn.Tx:
		steps = op.Steps
	default:
		steps = []turn.Step{{Op: op}}
	}
	if err := (&turn.Tx{Steps: steps}).Validate(limits); err != nil {
		q.action = refuse(replyError(errorText(err, q.cmd.native)))
		q.steps = 0
		return
	}
	tx.Steps = append(tx.Steps, steps...)
}

// write writes the reply, given what became of the steps.
func (q *queued) write(w *resp.Writer, outs []turn.Outcome) {
	r, err := q.outcome(outs)
	if err != nil {
		w.Error(errorText(err, q.cmd.native))
		return
	}
	r(w)
}

func (q *queued) outcome(outs []turn.Outcome) (reply, error) {
	switch {
	case q.fail != "":
		return nil, q.fail
	case q.say != nil:
		return q.say, nil
	case q.op == nil:
		os := make([]outcome, len(outs))
		for i := range outs {
			os[i].Result = outs[i].Result
			if err := outs[i].Err; err != nil && err.Kind != turn.WrongType {
				return nil, err
			} else if err != nil {
				os[i].err = err
			}
		}
		return q.answer(os)
	}
	for i := range outs {
		if err := outs[i].Err; err != nil {
			return nil, err
		}
	}
	return func(w *resp.Writer) { q.done(w, outs[0].Result) }, nil
}
