package raftstore

import (
	"slices"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// recorded returns the incarnation that a member is known by; empty: none.
func (n *Node) recorded(id string) string {
	for _, m := range n.state.Members() {
		if m.ID == id {
			return m.Incarnation
		}
	}
	return ""
}

// knownMembers returns the members that this node knows, be it that their addition is not
// committed yet.
func (n *Node) knownMembers() []string {
	ids := n.raft.configuration().IDs()
	for _, m := range n.state.Members() {
		if !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (n *Node) appliedIndex() uint64 {
	index, _ := n.state.Applied()
	return index
}

// logEnd returns where this node's log ends, as far as it is durable.
func (n *Node) logEnd() raftlog.Position {
	end, snap := n.mark.Position(), n.snaps.Position()
	if end.Before(snap) {
		return snap
	}
	return end
}
