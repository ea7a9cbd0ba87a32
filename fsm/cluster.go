package fsm

import (
	"slices"
	"strings"

	"github.com/turnlog/turnlog/fsm/internal/transaction"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// applyOp applies an operation: those on the cluster here, those on keys by their type.
func (m *Machine) applyOp(index uint64, op turn.Op, r *turn.Result) error {
	switch o := op.(type) {
	case *codec.Tick:
		return nil
	case *codec.Epoch:
		m.epoch(o)
		return nil
	case *codec.Member:
		return m.member(o)
	case *codec.SetLevel:
		return m.setLevel(o)
	case *codec.Checksum:
		m.hash.wanted = index
		return nil
	case *turn.Tx:
		return transaction.Apply(m.sessions, index, o, r)
	}
	return m.sessions.Apply(op, r)
}

func (m *Machine) epoch(o *codec.Epoch) {
	if m.keys.Meta.ClusterID == "" {
		m.keys.Meta.ClusterID = o.ClusterID
	}
}

// member records or removes a member. A recorded incarnation stays until the
// member is removed; only the addresses beside it may change.
func (m *Machine) member(o *codec.Member) error {
	old, known := m.keys.Meta.Member(o.ID)
	if known && !o.Remove && old.Incarnation != o.Incarnation {
		return turn.Errorf(turn.Exists,
			"node %s is known under another incarnation; remove it from the cluster, then add it again", o.ID)
	}
	rest := slices.DeleteFunc(slices.Clone(m.keys.Meta.Members), func(n codec.Member) bool { return n.ID == o.ID })
	if !o.Remove {
		rest = append(rest, codec.Member{ID: o.ID, Incarnation: o.Incarnation, RESPAddr: o.RESPAddr,
			HTTPAddr: o.HTTPAddr, Learner: o.Learner})
		slices.SortFunc(rest, func(a, b codec.Member) int { return strings.Compare(a.ID, b.ID) })
	}
	m.keys.Meta.Members = rest
	return nil
}
