package fsm

import (
	"errors"

	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// Query answers from the state as of the last entry applied. Payloads of the
// answer must not be written to.
func (m *Machine) Query(q turn.Query) (turn.Result, error) {
	var r turn.Result
	if err := store.Guarded(func() error { return queries.Answer(access{m}, q, &r) }); err != nil {
		m.damaged(err)
		if errors.Is(err, ErrHalted) { // a *turn.Error is in the chain, too, but knows nothing of that
			return turn.Result{}, err
		}
		return turn.Result{}, turn.AsError(err)
	}
	return r, nil
}
