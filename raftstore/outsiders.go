package raftstore

import (
	"fmt"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
)

// departures are the nodes that were members until a moment ago. They may stay for
// that long: they learn from the others that they have been removed, and stop.
type departures struct {
	mu      sync.Mutex
	members map[string]bool
	left    map[string]time.Time
}

// follow notes who is a member now, and forgets those who left longer than grace ago.
func (d *departures) follow(members map[string]bool, now time.Time, grace time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == nil {
		d.left = make(map[string]time.Time)
	}
	for id := range d.members {
		if !members[id] {
			d.left[id] = now
		}
	}
	for id, at := range d.left {
		if members[id] || now.Sub(at) > grace {
			delete(d.left, id)
		}
	}
	d.members = members
}

func (d *departures) recent(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.left[id]
	return ok
}

// grace is how long a node that was removed may stay: it asks the others when it has
// had no leader for an election timeout.
func (n *Node) grace() time.Duration { return max(10*n.cfg.Consensus.Election, 2*time.Second) }

// admitMember refuses connections from and to other nodes than members.
func (n *Node) admitMember(m peer.Meeting) *peer.Refusal {
	for _, s := range n.configuration().Servers {
		if m.Purpose != peer.Probe && string(s.Address) == m.Dialed && string(s.ID) != m.Remote.NodeID {
			return &peer.Refusal{Code: peer.RefusedNode,
				Reason: fmt.Sprintf("node %s answers at %s, the address of node %s", m.Remote.NodeID, m.Dialed, s.ID)}
		}
	}
	if !n.outsider(m.Remote, m.Purpose) {
		return nil
	}
	// A node that was removed is not ahead of one that knows of it. So one that is ahead is
	// not told that it is no member: it may have been added in entries that are not here yet.
	if n.ahead(m.Remote) {
		if n.vouched(m.Remote) {
			return nil
		}
		return &peer.Refusal{Code: peer.RefusedOther,
			Reason: fmt.Sprintf("node %s is not a member as far as node %s knows, whose log is behind; it should "+
				"try again", m.Remote.NodeID, n.id)}
	}
	return &peer.Refusal{Code: peer.RefusedMember,
		Reason: fmt.Sprintf("node %s is not, or no longer, a member of the cluster; `turnlog cluster join` makes a "+
			"new one", m.Remote.NodeID)}
}

// outsider reports whether a node is none that a connection may be for. Probes are for
// all, the others for members.
//
// A node that this one does not know may have been added in entries that it does not
// have yet; it may lead by now, and be the one to send them. So those count, too, that a
// member knows (see vouchers), and while this node starts those that a member names, so that
// they can say what they have seen of it (see package rollback). And where a credential is the same for all nodes, or there
// is none, Raft's connections are for any node whose log is ahead, as an election
// compares them: with the votes of those that lag it may have to become the leader (see
// acceptNewVoter). A node that this one follows as its leader gets all connections: before it
// can send entries, it must be able to ask for more than votes.
// A node that is being added is in none of the configurations that it goes through at
// first, and takes no node for an outsider.
func (n *Node) outsider(r peer.Facts, purpose peer.Purpose) bool {
	if purpose == peer.Probe {
		return false
	}
	self := false
	for _, s := range n.configuration().Servers {
		if string(s.ID) == r.NodeID {
			return false
		}
		self = self || string(s.ID) == n.id
	}
	if !self || n.recorded(r.NodeID) != "" || n.departed.recent(r.NodeID) ||
		n.vouchers.know(r.NodeID, n.appliedIndex()) {
		return false
	}
	if purpose == peer.RPC && n.detector.Awaits(r.NodeID) {
		return false
	}
	if _, leader := n.raft.Load().LeaderWithID(); string(leader) == r.NodeID {
		return false
	}
	return purpose != peer.Stream || n.cfg.Peers.TLS != nil || !n.ahead(r)
}

// ahead reports whether a node's log is ahead of this one's. Of a version that does not
// tell its log, what it has applied is compared.
func (n *Node) ahead(r peer.Facts) bool {
	if r.LogTerm == 0 {
		return r.Progress > n.appliedIndex()
	}
	return n.logEnd().Before(raftlog.Position{Index: r.LogIndex, Term: r.LogTerm})
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
