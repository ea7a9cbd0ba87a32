package transaction

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// queued is a request as EXEC does it. Its handler has run already: handlers of
// what may be queued change nothing.
type queued struct {
	cmd    *command.Command
	action command.Action
	steps  int // of the transaction that are its own
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
	return nil, ErrNotWithin
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
