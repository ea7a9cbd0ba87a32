package raftstore

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/membership"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/turn"
)

// newPolicy needs the open files.
func (n *Node) newPolicy() *membership.Policy {
	peers := &n.cfg.Peers
	return membership.New(membership.Config{
		Identity: n.data.Identity.Get, Cluster: policyCluster{n}, Joins: n.cfg.Join,
		Certified: peers.TLS != nil, Secured: peers.TLS != nil || peers.Secret != nil, Grace: n.grace(),
		Awaited: func(id string) bool { return n.detector.Awaits(id) },
		Members: func(ctx context.Context, id string) ([]string, uint64, error) {
			st, err := n.statusOf(ctx, id)
			return st.Members, st.Applied, err
		},
		Removed: ErrRemoved, Advice: datadir.Reseed, Fail: n.failure.Fail, Logger: n.log,
	})
}

// grace is how long a node that was removed may stay: it asks the others when it has
// had no leader for an election timeout.
func (n *Node) grace() time.Duration { return max(10*n.cfg.Consensus.Election, 2*time.Second) }

// facts is what this node tells another one of itself, when they connect.
func (n *Node) facts() peer.Facts {
	v := n.data.Identity.Get()
	end, committed := n.data.End(), n.data.Committed()
	return peer.Facts{
		ClusterID: v.ClusterID, NodeID: v.NodeID, Incarnation: v.Incarnation,
		Wall: n.cfg.Clock.Now().Truncate(time.Millisecond), Progress: n.data.Applied(),
		Level: uint64(n.cfg.knownLevel()), LogIndex: end.Index, LogTerm: end.Term,
		CommittedIndex: committed.Index, CommittedTerm: committed.Term,
		Recorded: n.data.Recorded(v.NodeID) == v.Incarnation,
	}
}

// admit decides whether to accept another node.
//
// One that this node dialed tells which directory it has, as questions do (see rollback.Observations).
func (n *Node) admit(m peer.Meeting) error {
	if err := n.policy.Admit(m); err != nil {
		return err
	}
	if r := m.Remote; n.policy.Member(r.NodeID) {
		n.offsets.Note(r.NodeID, m.Offset, n.cfg.Clock.Now())
		if m.Dialed != "" && m.Purpose != peer.Probe {
			n.seen.Greeted(r.NodeID, r.Incarnation)
		}
	}
	return nil
}

// begin judges a node that has opened a connection for Raft's messages, before Raft gets one of them.
func (n *Node) begin(ctx context.Context, m peer.Meeting) error {
	// Raft may run since the node was admitted. What the detector notes counts as what this node had.
	if err := n.policy.Recheck(m.Remote); err != nil {
		return err
	}
	return n.detector.Begin(ctx, m)
}

// recheck judges this node, and those that were admitted before Raft ran, as soon as Raft runs, and so before this
// node may stand for election: what an older copy of a node that was alone appends would count as newer than what the
// others have.
func (n *Node) recheck() error {
	n.net.Cut(func(remote peer.Facts, p peer.Purpose) bool {
		return p != peer.Probe && n.policy.Recheck(remote) != nil
	})
	return n.data.CheckCopy(n.raft.Latest().Servers)
}

// connected is told that requests to another node get through now.
func (n *Node) connected(string) {
	n.writes.forwarder.Wake()
	n.detector.Wake()
	n.waiter.look()
}

// policyCluster implements membership.Cluster.
type policyCluster struct{ node *Node }

func (c policyCluster) Configuration() membership.Configuration { return c.node.raft.Configuration() }

func (c policyCluster) Recorded(id string) string { return c.node.data.Recorded(id) }

func (c policyCluster) Sound() bool {
	damage, halted := c.node.data.State.Damage()
	return damage == nil && !halted
}

func (c policyCluster) Applied() uint64 { return c.node.data.Applied() }

func (c policyCluster) LogEnd() raftlog.Position { return c.node.data.End() }

func (c policyCluster) WasMember() bool {
	_, member := c.Configuration().Find(c.node.id)
	return member || c.node.data.WasMember()
}

func (c policyCluster) Lacks(p raftlog.Position) bool { return c.node.data.Lacks(p) }

func (c policyCluster) Leader() string { return c.node.raft.Leader() }

func (c policyCluster) Level() turn.ClusterLevel { return c.node.data.State.Level() }
