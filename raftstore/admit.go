package raftstore

import (
	"fmt"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
)

func (n *Node) facts() peer.Facts {
	v := n.ident.Get()
	applied, _ := n.state.Applied()
	end := n.logEnd()
	return peer.Facts{
		ClusterID: v.ClusterID, NodeID: v.NodeID, Incarnation: v.Incarnation,
		Wall: n.cfg.Clock.Now().Truncate(time.Millisecond), Progress: applied,
		Level: uint64(n.knownLevel()), LogIndex: end.Index, LogTerm: end.Term,
	}
}

// admit decides whether to have to do with another node.
//
// One that this node dialed tells which directory it has, as questions do (see rollback.Observations).
func (n *Node) admit(m peer.Meeting) error {
	self := n.ident.Get()
	r := m.Remote
	if r.ClusterID != "" && self.ClusterID != "" && r.ClusterID != self.ClusterID {
		return &peer.Refusal{Code: peer.RefusedCluster,
			Reason: fmt.Sprintf("node %s belongs to cluster %s, node %s to cluster %s", r.NodeID, r.ClusterID,
				self.NodeID, self.ClusterID)}
	}
	if r.NodeID == self.NodeID && r.Incarnation != self.Incarnation {
		return &peer.Refusal{Code: peer.RefusedNode,
			Reason: fmt.Sprintf("there are two nodes with the id %s", r.NodeID)}
	}
	if known, replaced := n.replaced(r); replaced {
		return &peer.Refusal{Code: peer.RefusedIncarnation,
			Reason: fmt.Sprintf("the cluster knows node %s with another data directory (incarnation %s, not %s); a "+
				"node that lost its data "+
				"must not come back under its old name by itself: remove the member %s, then add it again",
				r.NodeID, known, r.Incarnation, r.NodeID)}
	}
	if refusal := n.admitLevel(r); refusal != nil {
		return refusal
	}
	if err := n.overtaken(r); err != nil {
		if m.Purpose == peer.Probe && n.cfg.Peers.TLS == nil && n.cfg.Peers.Secret == nil {
			// Anyone may probe, and say what they like. A member connects by itself.
			n.log.Error("a probe is ahead of this node", "error", err)
			return &peer.Refusal{Code: peer.RefusedOther, Reason: err.Error()}
		}
		n.fail(err)
		return err
	}
	if refusal := n.admitMember(m); refusal != nil {
		return refusal
	}
	if _, member := serverIn(n.configuration(), r.NodeID); member || n.recorded(r.NodeID) != "" {
		n.offsets.Note(r.NodeID, m.Offset, n.cfg.Clock.Now())
		if m.Dialed != "" && m.Purpose != peer.Probe {
			n.seen.Greeted(r.NodeID, r.Incarnation)
		}
	}
	return nil
}

// replaced reports whether the cluster knows a node by another data directory than the one of
// the handshake, and which: the node lost its data, or the directory was replaced since.
// If it had applied more than this node has, though, this node is the one that is behind: there the
// member has been removed and added again.
func (n *Node) replaced(r peer.Facts) (known string, replaced bool) {
	known = n.recorded(r.NodeID)
	return known, known != "" && known != r.Incarnation && r.Progress <= n.appliedIndex()
}

// overtaken returns why this node, the only voter, must stop: another node of the cluster has a
// log that is ahead. The log of a cluster's only voter is ahead of all others, unless an older
// copy of it was put back, from before other voters were added.
//
// Both log ends are compared as an election compares them. A copy that has been in as many
// terms by itself as the others meanwhile is not found out.
func (n *Node) overtaken(r peer.Facts) error {
	own := n.ident.Get().ClusterID
	others, voter := n.voters()
	if !voter || len(others) > 0 || own == "" || own != r.ClusterID || r.LogTerm == 0 || !n.ahead(r) {
		return nil
	}
	return fmt.Errorf("raftstore: this node is the only voter that it knows, and its log ends at %v, but node %s of "+
		"the same cluster "+
		"has %v: an older copy of this node's data was put back, and what it acknowledged since then is not in it; %s",
		n.logEnd(), r.NodeID, raftlog.Position{Index: r.LogIndex, Term: r.LogTerm}, reseed)
}

// recorded returns the incarnation that a member is known by; empty: none.
func (n *Node) recorded(id string) string {
	for _, m := range n.state.Members() {
		if m.ID == id {
			return m.Incarnation
		}
	}
	return ""
}

// refused is told that another node wants nothing to do with this one. If that
// is because this node lost its data, it must stop, unless it knows better: a
// member that was added again may meet nodes that have not heard of that yet. It
// stops, too, if the cluster has gone to a level that its version does not know, or if
// it was removed while it did not run.
func (n *Node) refused(m peer.Meeting, r *peer.Refusal) {
	self := n.ident.Get()
	same := self.ClusterID == "" || self.ClusterID == m.Remote.ClusterID
	if r.Code == peer.RefusedIncarnation && same && !n.cfg.Join && n.soundState() &&
		n.recorded(n.id) != self.Incarnation {
		n.fail(fmt.Errorf("raftstore: node %s rejected this node: %s", m.Remote.NodeID, r.Reason))
		return
	}
	if r.Code == peer.RefusedLevel && self.ClusterID != "" && same {
		n.fail(fmt.Errorf("raftstore: node %s rejected this node: %s", m.Remote.NodeID, r.Reason))
		return
	}
	if r.Code == peer.RefusedMember && self.ClusterID != "" && same && n.removedBy(m.Remote.Progress) {
		n.fail(ErrRemoved)
		return
	}
	n.log.Warn("rejected by another node", "peer", m.Remote.NodeID, "reason", r.Reason)
}

// soundState reports whether the state can be relied on. One that was put aside does not
// record this node, whatever the cluster does.
func (n *Node) soundState() bool {
	damage, halted := n.state.Damage()
	return damage == nil && !halted
}

// removedBy reports whether a node whose state does not have this one as a member, as of the
// log entry applied, knows of its removal. A node that has applied less than this one may
// not know yet that this one was added: what it says is no reason to stop.
func (n *Node) removedBy(applied uint64) bool {
	return n.recorded(n.id) == n.ident.Get().Incarnation && applied > n.appliedIndex()
}

// connected is told that requests to another node get through now.
func (n *Node) connected(string) {
	n.writes.forwarder.Wake()
	n.detector.Wake()
	n.waiter.look()
}
