// Package transaction applies transactions of two kinds: those of Redis's EXEC, whose steps take place one by one, each
// with an outcome of its own (stepwise.go), and those that take place as a whole or not at all (whole.go). For the
// latter, all conditions and steps are checked before the first step is applied (plan.go): there is no undo.
//
// It is for use only while an entry is applied.
package transaction

import (
	"github.com/turnlog/turnlog/fsm/internal/sessions"
	"github.com/turnlog/turnlog/turn"
)

// Apply applies a transaction that is in the entry at index.
func Apply(s *sessions.Operations, index uint64, o *turn.Tx, r *turn.Result) error {
	if o.All {
		return whole{s}.apply(o, r)
	}
	return (&stepwise{Operations: s, index: index}).apply(o, r)
}
