package membership

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// Admit decides whether to accept another node: nil or a *peer.Refusal, or why this node stops.
func (p *Policy) Admit(m peer.Meeting) error {
	self := p.cfg.Identity()
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
	if known, replaced := p.replaced(r); replaced {
		return &peer.Refusal{Code: peer.RefusedIncarnation,
			Reason: fmt.Sprintf("the cluster knows node %s with another data directory (incarnation %s, not %s); a "+
				"node that lost its data "+
				"must not come back under its old name by itself: remove the member %s, then add it again",
				r.NodeID, known, r.Incarnation, r.NodeID)}
	}
	if refusal := p.admitLevel(r); refusal != nil {
		return refusal
	}
	if err := p.overtaken(r); err != nil {
		if m.Purpose == peer.Probe && !p.cfg.Secured {
			// Anyone may probe, and say what they like. A member connects by itself.
			p.cfg.Logger.Error("a probe is ahead of this node", "error", err)
			return &peer.Refusal{Code: peer.RefusedOther, Reason: err.Error()}
		}
		p.cfg.Fail(err)
		return err
	}
	if refusal := p.admitMember(m); refusal != nil {
		return refusal
	}
	return nil // not a nil *peer.Refusal
}

// Recheck judges a node that was admitted, and is not one that probes, as Admit would now. Before Raft ran, this node
// did not know that it is the only voter. It returns why this node stops, nil if it does not.
func (p *Policy) Recheck(r peer.Facts) error {
	err := p.overtaken(r)
	if err != nil {
		p.cfg.Fail(err)
	}
	return err
}

// admitLevel refuses a node whose version does not know the cluster's level: it could
// not read what the others write.
func (p *Policy) admitLevel(r peer.Facts) *peer.Refusal {
	level, known := p.cfg.Cluster.Level(), turn.ClusterLevel(r.Level)
	if known >= level {
		return nil
	}
	return &peer.Refusal{Code: peer.RefusedLevel,
		Reason: fmt.Sprintf("the cluster is at level %d, and the version of turnlog that node %s runs "+
			"knows levels up to %d: run the version of the other nodes there", level, r.NodeID, known)}
}

// overtaken returns why this node, the only voter, must stop: another node of the cluster, be it a learner, has a
// log that is ahead, or knows an entry to be committed that this one's log does not have. The log of a cluster's only
// voter is ahead of all others and has all that is committed, unless an older copy of it was put back.
//
// Both log ends are compared as an election compares them. A copy that has been in as many terms by itself as the
// others meanwhile is not ahead. It is found out by what is committed, as long as its log is not compacted beyond that.
func (p *Policy) overtaken(r peer.Facts) error {
	self := p.cfg.Identity()
	others, voter := p.cfg.Cluster.Configuration().Voters(self.NodeID)
	if !voter || len(others) > 0 || !p.sameCluster(r) {
		return nil
	}
	committed := raftlog.Position{Index: r.CommittedIndex, Term: r.CommittedTerm}
	lacks := p.cfg.Cluster.Lacks(committed)
	if s, member := p.cfg.Cluster.Configuration().Find(r.NodeID); lacks && member && !s.Voter {
		return fmt.Errorf("this node is the only voter, and its log, which ends at %v, does not have %v, which the "+
			"learner %[3]s knows to be committed: an older copy of this node's data was put back, and what it "+
			"acknowledged since then is not in it. Put a whole and newer copy of its data directory in its place; or "+
			"begin a new cluster with the data of node %[3]s (turnlog recover); or, to go on without what this copy "+
			"lacks, stop node %[3]s, start this one, and remove node %[3]s from the cluster",
			p.cfg.Cluster.LogEnd(), committed, r.NodeID)
	}
	if lacks {
		return p.overtakenBy(r.NodeID, committed)
	}
	if p.ahead(r) {
		return p.overtakenBy(r.NodeID, raftlog.Position{Index: r.LogIndex, Term: r.LogTerm})
	}
	return nil
}

// sameCluster reports whether another node surely belongs to this node's cluster: it says so or, if it was killed
// before it had stored to which one it belongs, has the data directory that the state records of it.
func (p *Policy) sameCluster(r peer.Facts) bool {
	own := p.cfg.Identity().ClusterID
	return own != "" && (own == r.ClusterID ||
		r.ClusterID == "" && r.Incarnation != "" && p.cfg.Cluster.Recorded(r.NodeID) == r.Incarnation)
}

func (p *Policy) overtakenBy(id string, has raftlog.Position) error {
	return fmt.Errorf("this node is the only voter that it knows, and its log ends at %v, but node %s of "+
		"the same cluster "+
		"has %v: an older copy of this node's data was put back, and what it acknowledged since then is not in it; %s",
		p.cfg.Cluster.LogEnd(), id, has, p.cfg.Advice)
}
