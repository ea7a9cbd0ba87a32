package lincheck

import (
	"errors"
	"io"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Picture draws, as an HTML page, how far a legal order of a session's
// operations can be found.
func Picture(w io.Writer, ops []history.Operation, session string, timeout time.Duration) error {
	sessions, _ := split(ops)
	list := sessions[session]
	if len(list) == 0 {
		return errors.New("no operations on session " + session)
	}
	m := model
	switch kind(list) {
	case expiring:
		m = expiringModel(clockBounds{early: int64(clockSlack), late: expiryGrace})
	case valued:
		m = valueModel(list)
	}
	_, info := porcupine.CheckOperationsVerbose(m, searchable(list), timeout)
	return porcupine.Visualize(m, info, w)
}
