package raftstore

import (
	"path/filepath"
	"slices"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/rollback"
)

// openSeen reads what this node saw of the others before it was stopped.
func (n *Node) openSeen(dir string) (err error) {
	n.seen, err = rollback.Open(filepath.Join(dir, rollback.FileName), n.log)
	return err
}

// newDetector needs the open files, the connections to other nodes, and the table of calls.
func (n *Node) newDetector() *rollback.Detector {
	return rollback.New(rollback.Config{
		Node: n.id, Incarnation: n.data.Identity.Get().Incarnation, Boot: n.writes.calls.Origin(),
		Seen: n.seen, Mark: n.data.Mark, Terms: n.data.Vote, LogEnd: n.data.Log.End,
		Cluster: detectorCluster{n}, Ballot: n.ballot, Ask: n.peers.Seen,
		Checked: n.checked, Whole: n.data.ForgetDamagedLog, Fail: n.failure.Fail, Failed: n.failure.Reason,
		Logger: n.log,
	})
}

// detectorCluster implements rollback.Cluster.
type detectorCluster struct{ node *Node }

func (c detectorCluster) Members() []string { return c.node.raft.Configuration().IDs() }

func (c detectorCluster) Voters() (others []string, self bool) { return c.node.raft.Voters() }

func (c detectorCluster) Known() []string {
	ids := c.node.raft.Configuration().IDs()
	for _, m := range c.node.data.State.Members() {
		if !slices.Contains(ids, m.ID) { // its addition is not committed yet, or its removal
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func (c detectorCluster) Replaced(node peer.Facts) bool { return c.node.policy.Replaced(node) }

func (c detectorCluster) Leader() string {
	id, _ := c.node.lead.Leader()
	return id
}

func (c detectorCluster) Term() uint64 {
	_, term, _ := c.node.raft.State()
	return term
}
