package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Level returns the cluster's level as far as it was applied. It waits for nothing.
func (m *Machine) Level() turn.ClusterLevel { return turn.ClusterLevel(m.reached.Load()) }

// setLevel raises the level. What an operation does to the state depends on meta.level
// wherever a level changed that: nodes that do not know the level yet apply the same
// entries. One that this version does not know ends the machine,
// rather than have it come to another state than the others.
func (m *Machine) setLevel(o *codec.SetLevel) error {
	if err := layout.KnownLevel(o.Level); err != nil {
		return err
	}
	m.keys.Meta.Level = max(m.keys.Meta.Level, o.Level)
	m.reached.Store(uint64(m.keys.Meta.Level))
	return nil
}
