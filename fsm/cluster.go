package fsm

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

func (m *Machine) epoch(o *codec.Epoch) {
	if m.keys.meta.ClusterID == "" {
		m.keys.meta.ClusterID = o.ClusterID
	}
}

// member records or removes a member. A recorded incarnation stays until the
// member is removed; only the addresses beside it may change.
func (m *Machine) member(o *codec.Member) error {
	old, known := m.keys.meta.Member(o.ID)
	if known && !o.Remove && old.Incarnation != o.Incarnation {
		return turn.Errorf(turn.Exists,
			"node %s is known under another incarnation; remove it from the cluster, then add it again", o.ID)
	}
	rest := slices.DeleteFunc(slices.Clone(m.keys.meta.Members), func(n codec.Member) bool { return n.ID == o.ID })
	if !o.Remove {
		rest = append(rest, codec.Member{ID: o.ID, Incarnation: o.Incarnation, RESPAddr: o.RESPAddr,
			HTTPAddr: o.HTTPAddr})
		slices.SortFunc(rest, func(a, b codec.Member) int { return strings.Compare(a.ID, b.ID) })
	}
	m.keys.meta.Members = rest
	return nil
}
