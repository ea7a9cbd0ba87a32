package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Watch returns a channel that gets a token after each applied change of the
// session; tokens that are not taken merge into one. stop ends it. A token may
// come without a change.
func (m *Machine) Watch(k turn.Key) (changed <-chan struct{}, stop func()) {
	return m.keys.Watch(layout.JoinKey(k))
}
