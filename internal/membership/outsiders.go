package membership

import (
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
)

// admitMember refuses connections from and to other nodes than members.
func (p *Policy) admitMember(m peer.Meeting) *peer.Refusal {
	for _, s := range p.cfg.Cluster.Configuration() {
		if m.Purpose != peer.Probe && s.Addr == m.Dialed && s.ID != m.Remote.NodeID {
			return &peer.Refusal{Code: peer.RefusedNode,
				Reason: fmt.Sprintf("node %s answers at %s, the address of node %s", m.Remote.NodeID, m.Dialed, s.ID)}
		}
	}
	if !p.Outsider(m.Remote, m.Purpose) {
		return nil
	}
	// A node that was removed is not ahead of one that knows of it. So one that is ahead is
	// not told that it is no member: it may have been added in entries that are not here yet.
	if p.ahead(m.Remote) {
		if p.reported(m.Remote.NodeID) {
			return nil
		}
		return &peer.Refusal{Code: peer.RefusedOther,
			Reason: fmt.Sprintf("node %s is not a member as far as node %s knows, whose log is behind; it should "+
				"try again", m.Remote.NodeID, p.cfg.Identity().NodeID)}
	}
	return &peer.Refusal{Code: peer.RefusedMember,
		Reason: fmt.Sprintf("node %s is not, or no longer, a member of the cluster; `turnlog cluster join` makes a "+
			"new one", m.Remote.NodeID)}
}

// Outsider reports whether a node is none that a connection may be for. Probes are for
// all, the others for members.
//
// A node that this one does not know may have been added in entries that it does not
// have yet; it may lead by now, and be the one to send them. So those count, too, that a
// member reports (see reports), and while this node starts those that a member names, so that
// they can say what they have seen of it (see package rollback). And where a credential is the same for
// all nodes, or there is none, Raft's connections are for any node whose log is ahead, as an election
// compares them: with the votes of those that lag it may have to become the leader (see
// package ballot). A node that this one follows as its leader gets all connections: before it
// can send entries, it must be able to ask for more than votes.
// A node that is being added is in none of the configurations that it goes through at
// first, and takes no node for an outsider.
func (p *Policy) Outsider(r peer.Facts, purpose peer.Purpose) bool {
	if purpose == peer.Probe {
		return false
	}
	c := p.cfg.Cluster
	configuration := c.Configuration()
	if _, member := configuration.Find(r.NodeID); member {
		return false
	}
	_, self := configuration.Find(p.cfg.Identity().NodeID)
	if !self || c.Recorded(r.NodeID) != "" || p.removed.recent(r.NodeID) || p.reports.have(r.NodeID, c.Applied()) {
		return false
	}
	if purpose == peer.RPC && p.cfg.Awaited(r.NodeID) {
		return false
	}
	if c.Leader() == r.NodeID {
		return false
	}
	return purpose != peer.Stream || p.cfg.Certified || !p.ahead(r)
}
