// Package transaction applies transactions: those whose steps take place one by one (stepwise.go), and
// those that take place as a whole (whole.go), whose steps are all checked before the first one (plan.go).
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
