package redis

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// transactions is how far a client has got with WATCH and MULTI.
type transactions struct {
	memory  resp.Memory
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
var errCrowded = command.Error(command.ErrorText(turn.Errorf(turn.Overloaded,
	"too much is kept for clients at the moment"), false))

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
	cmd    *command.Command
	action command.Action
	steps  int // of the transaction that are its own
}

// watched is a key that WATCH looked at. It belongs to the goroutine that looks
// until the connection's barrier is past.
type watched struct {
	turn.Watched
	known bool
}

// inTransaction reports whether an action can be queued.
func inTransaction(a command.Action) bool {
	switch a := a.(type) {
	case *command.Work, *command.Wait, *command.Follow:
		return false
	case *command.Write: // all or nothing is not what MULTI promises
		tx, ok := a.Op.(*turn.Tx)
		return !ok || !tx.All
	}
	return true
}

// countSteps returns how many steps of a transaction an action takes.
func countSteps(a command.Action) int {
	switch a := a.(type) {
	case *command.Read:
		return len(a.Queries)
	case *command.Write:
		if tx, ok := a.Op.(*turn.Tx); ok {
			return len(tx.Steps)
		}
		return 1
	}
	return 0
}

// addTo adds the steps of q, and returns the keys that they concern. One that is malformed
// is refused by itself.
func (q *queued) addTo(tx *turn.Tx, limits turn.Limits) []turn.Key {
	var keys []turn.Key
	var steps []turn.Step
	switch a := q.action.(type) {
	case *command.Read:
		keys = a.Keys
		for _, query := range a.Queries {
			steps = append(steps, turn.Step{Query: query})
		}
	case *command.Write:
		keys = a.Keys
		if whole, ok := a.Op.(*turn.Tx); ok {
			steps = whole.Steps
		} else {
			steps = []turn.Step{{Op: a.Op}}
		}
	}
	if err := (&turn.Tx{Steps: steps}).Validate(limits); err != nil {
		q.action = command.Error(command.ErrorText(err, q.cmd.Native))
		q.steps = 0
		return nil
	}
	tx.Steps = append(tx.Steps, steps...)
	return keys
}

// write writes the reply, given the outcomes of the steps.
func (q *queued) write(w *resp.Writer, outs []turn.Outcome) {
	r, err := q.outcome(outs)
	if err != nil {
		w.Error(command.ErrorText(err, q.cmd.Native))
		return
	}
	r(w)
}

func (q *queued) outcome(outs []turn.Outcome) (command.Reply, error) {
	switch a := q.action.(type) {
	case command.Error:
		return nil, a
	case command.Reply:
		return a, nil
	case *command.Read:
		return answerRead(a, outs)
	case *command.Write:
		for i := range outs {
			if err := outs[i].Err; err != nil {
				return nil, err
			}
		}
		return func(w *resp.Writer) { a.Done(w, outs[0].Result) }, nil
	}
	return nil, errNotWithin
}

// answerRead answers with the outcomes of the steps that the queries were.
func answerRead(a *command.Read, outs []turn.Outcome) (command.Reply, error) {
	os := make([]command.Outcome, len(outs))
	for i := range outs {
		os[i].Result = outs[i].Result
		if err := outs[i].Err; err != nil && err.Kind != turn.WrongType {
			return nil, err
		} else if err != nil {
			os[i].Err = err
		}
	}
	return a.Answer(os)
}
