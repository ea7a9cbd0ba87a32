package lincheck

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
)

// checkValue looks for an order of the commands on a key that agrees with the clock and
// with an obvious Redis.
func (s *session) checkValue(timeout time.Duration) {
	if !slices.ContainsFunc(s.ops,
		func(op *history.Operation) bool { return op.Call.Final && op.Outcome == history.OK }) {
		s.undecided("no final read", "the key was not read after the faults")
		return
	}
	if s.checkMoves(); len(s.out.Violations) == 0 {
		s.searchWith(valueModel(s.ops), timeout)
	}
}

// held is what there is and what makes it equal to another.
type held struct {
	value.State
	key string
}

// valueModel has *history.Operation as input and output, held as state.
func valueModel(ops []*history.Operation) porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			nothing := value.New(ops[0].Call.Command)
			return held{nothing, nothing.String()}
		},
		Step: func(st, in, _ any) (bool, any) {
			op := in.(*history.Operation)
			before := st.(held)
			next, answer := before.Do(op.Call.Command)
			switch {
			case op.Outcome == history.Fail:
				return answer == "!"+op.Error.Code, before
			case op.Outcome == history.OK && answer != answered(op):
				return false, before
			}
			if learns, ok := next.(value.Moved); ok && len(op.Result.Places) > 0 {
				if next, ok = learns.Learn(op.Result.Places); !ok {
					return false, before
				}
			}
			return true, held{next, next.String()}
		},
		Equal: func(a, b any) bool { return a.(held).key == b.(held).key },
		Hash:  func(st any) uint64 { return maphash.String(seed, st.(held).key) },
		DescribeOperation: func(in, _ any) string {
			op := in.(*history.Operation)
			return fmt.Sprintf("%q → %s", op.Call.Command, answered(op))
		},
		DescribeState: func(st any) string { return st.(held).key },
	}
}

// answered is the answer to a command in the words of the model.
func answered(op *history.Operation) string {
	if len(op.Result.Places) > 0 {
		return value.Shown(op.Result.Places)
	}
	return op.Result.Answer
}
