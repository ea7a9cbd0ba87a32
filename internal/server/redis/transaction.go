package redis

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// transactions is how far a client has got with WATCH and MULTI.
type transactions struct {
	memory  *account
	open    *transaction // since MULTI; nil: none
	watched []*watched
	// queueing and watching are the bytes that memory was charged with.
	queueing, watching int
}

// spoil lets EXEC do nothing, if there has been a MULTI.
func (t *transactions) spoil() {
	if t.open != nil {
		t.open.dirty = true
	}
}

// forget drops what is queued and what is watched.
func (t *transactions) forget() {
	t.memory.Give(t.queueing)
	t.open, t.queueing = nil, 0
	t.unwatch()
}

func (t *transactions) unwatch() {
	t.memory.Give(t.watching)
	t.watched, t.watching = nil, 0
}

// queuedOverhead and watchedOverhead are the bookkeeping bytes of a queued request
// and of a watched key.
const (
	queuedOverhead  = 256
	watchedOverhead = 160
)

// errCrowded refuses what a connection would have to keep beyond its memory.
var errCrowded = replyError(errorText(turn.Errorf(turn.Overloaded, "too much is kept for clients at the moment"), false))

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
