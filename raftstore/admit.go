package raftstore

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/peer"
)

func (n *Node) facts() peer.Facts {
	v := n.ident.get()
	return peer.Facts{ClusterID: v.ClusterID, NodeID: v.NodeID, Incarnation: v.Incarnation, Wall: n.cfg.Clock.Now().Truncate(time.Millisecond)}
}

// admit decides whether to have to do with another node.
func (n *Node) admit(m peer.Meeting) error {
	self := n.ident.get()
	r := m.Remote
	if r.ClusterID != "" && self.ClusterID != "" && r.ClusterID != self.ClusterID {
		return &peer.Refusal{Code: peer.RefusedCluster,
			Reason: fmt.Sprintf("node %s belongs to cluster %s, node %s to cluster %s", r.NodeID, r.ClusterID, self.NodeID, self.ClusterID)}
	}
	if r.NodeID == self.NodeID && r.Incarnation != self.Incarnation {
		return &peer.Refusal{Code: peer.RefusedNode, Reason: fmt.Sprintf("there are two nodes with the id %s", r.NodeID)}
	}
	for _, known := range n.state.Members() {
		if known.ID == r.NodeID && known.Incarnation != r.Incarnation {
			return &peer.Refusal{Code: peer.RefusedIncarnation,
				Reason: fmt.Sprintf("the cluster knows node %s with another data directory (incarnation %s, not %s); a node that lost its data "+
					"must not come back under its old name by itself: remove the member %s, then add it anew",
					r.NodeID, known.Incarnation, r.Incarnation, r.NodeID)}
		}
	}
	n.offsets.note(r.NodeID, m.Offset)
	return nil
}

// refused is told that another node wants nothing to do with this one.
func (n *Node) refused(m peer.Meeting, r *peer.Refusal) {
	switch r.Code {
	case peer.RefusedIncarnation, peer.RefusedCluster:
		n.fail(fmt.Errorf("raftstore: node %s turned this node away: %s", m.Remote.NodeID, r.Reason))
	default:
		n.log.Warn("turned away by another node", "peer", m.Remote.NodeID, "reason", r.Reason)
	}
}

// connected is told that requests to another node get through now.
func (n *Node) connected(string) { poke(n.forward.wake) }
