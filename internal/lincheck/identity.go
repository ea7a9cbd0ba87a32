package lincheck

import (
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// checkIdentity requires that in one incarnation of a session no seq is ever
// seen with two values, at any node, also where messages come and go.
func (s *session) checkIdentity() {
	type place struct{ incarnation, seq uint64 }
	type sight struct {
		value string
		op    *history.Operation
	}
	seen := map[place]sight{}
	for _, op := range s.ops {
		if op.Outcome != history.OK || op.Result.Incarnation == 0 {
			continue // this answer does not tell the incarnation
		}
		for _, m := range op.Result.Messages {
			at := place{op.Result.Incarnation, m.Seq}
			before, ok := seen[at]
			if ok && before.value != m.Value {
				s.violation("two values", fmt.Sprintf("seq %d of incarnation %d was %q and is %q",
					m.Seq, at.incarnation, before.value, m.Value), before.op, op)
				return
			}
			seen[at] = sight{m.Value, op}
		}
	}
}

// checkAgreement requires that after the faults every node shows the same. The
// nodes were asked when no write was in flight any more.
func (s *session) checkAgreement() {
	var first *history.Operation
	for _, op := range s.ops {
		switch {
		case !op.Call.Final || op.Outcome != history.OK:
		case first == nil:
			first = op
		case op.Result.Last != first.Result.Last:
			s.violation("nodes differ", fmt.Sprintf("%s ends at %d, %s at %d",
				first.Node, first.Result.Last, op.Node, op.Result.Last), first, op)
			return
		case !slices.Equal(op.Result.Messages, first.Result.Messages):
			s.violation("nodes differ", fmt.Sprintf("%s and %s show other messages", first.Node, op.Node), first, op)
			return
		}
	}
}
