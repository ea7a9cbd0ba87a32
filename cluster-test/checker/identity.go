package checker

import (
	"fmt"

	"github.com/turnlog/turnlog/cluster-test/history"
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
