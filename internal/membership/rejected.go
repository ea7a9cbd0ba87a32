package membership

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
)

// Rejected is told that another node wants nothing to do with this one. If that
// is because this node lost its data, it must stop, unless it knows better: a
// member that was added again may meet nodes that have not heard of that yet. It
// stops, too, if the cluster has gone to a level that its version does not know, or if
// it was removed while it did not run.
func (p *Policy) Rejected(m peer.Meeting, r *peer.Refusal) {
	self := p.cfg.Identity()
	same := self.ClusterID == "" || self.ClusterID == m.Remote.ClusterID
	if r.Code == peer.RefusedIncarnation && same && !p.cfg.Joins && p.cfg.Cluster.Sound() &&
		p.cfg.Cluster.Recorded(self.NodeID) != self.Incarnation {
		p.cfg.Fail(fmt.Errorf("node %s rejected this node: %s", m.Remote.NodeID, r.Reason))
		return
	}
	if r.Code == peer.RefusedLevel && self.ClusterID != "" && same {
		p.cfg.Fail(fmt.Errorf("node %s rejected this node: %s", m.Remote.NodeID, r.Reason))
		return
	}
	if r.Code == peer.RefusedMember && self.ClusterID != "" && same &&
		(p.RemovedBy(m.Remote.Progress) || p.removedBeyondLog(m.Remote.Progress)) {
		p.cfg.Fail(p.cfg.Removed)
		return
	}
	p.cfg.Logger.Warn("rejected by another node", "peer", m.Remote.NodeID, "reason", r.Reason)
}

// RemovedBy reports whether a node whose state does not have this one as a member, as of the
// log entry applied, knows of its removal. A node that has applied less than this one may
// not know yet that this one was added: what it says is no reason to stop.
func (p *Policy) RemovedBy(applied uint64) bool {
	self := p.cfg.Identity()
	return p.cfg.Cluster.Recorded(self.NodeID) == self.Incarnation && applied > p.cfg.Cluster.Applied()
}

// removedBeyondLog reports whether a node that rejects this one, as of the log entry applied, knows of its removal,
// although this one's state does not tell that it was added: after a start that is so until a leader says how much is
// committed, which none says to a node that was removed. The log tells that it was added, be it that it also tells of
// the removal, and the other node has applied more than all of that. No node is added again with that directory.
func (p *Policy) removedBeyondLog(applied uint64) bool {
	self := p.cfg.Identity()
	return applied > p.cfg.Cluster.LogEnd().Index && p.cfg.Cluster.Recorded(self.NodeID) == "" &&
		p.cfg.Cluster.WasMember()
}
