package raftstore

import (
	"context"
	"path/filepath"

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
		Node: n.id, Incarnation: n.ident.Get().Incarnation, Boot: n.writes.calls.Origin(),
		Seen: n.seen, Mark: n.mark, Terms: n.stable, LogEnd: n.logs.End,
		Cluster: detectorCluster{n}, Ballot: n.ballot, Ask: n.askSeen,
		Checked: n.checked, Whole: n.forgetLog, Fail: n.fail, Failed: n.reason, Logger: n.log,
	})
}

func (n *Node) askSeen(ctx context.Context, id string, question []byte) ([]byte, error) {
	answer, err := n.net.Call(ctx, id, kindSeen, question)
	if err != nil {
		return nil, err
	}
	content, f, err := open(answer)
	if f != nil {
		return nil, f.Err
	}
	return content, err
}

func (n *Node) answerSeen(from peer.Facts, question []byte) ([]byte, error) {
	if n.raft.Load() == nil {
		return badly(definite(unavailable("the node is starting"))), nil
	}
	b, err := n.detector.Answer(from, question)
	return append([]byte{answerOK}, b...), err
}

// detectorCluster implements rollback.Cluster.
type detectorCluster struct{ node *Node }

func (c detectorCluster) Members() []string { return c.node.raft.configuration().IDs() }

func (c detectorCluster) Voters() (others []string, self bool) { return c.node.raft.voters() }

func (c detectorCluster) Known() []string { return c.node.knownMembers() }

func (c detectorCluster) Replaced(node peer.Facts) bool { return c.node.policy.Replaced(node) }

func (c detectorCluster) Leader() string {
	id, _ := c.node.lead.leader()
	return id
}

func (c detectorCluster) Term() uint64 {
	_, term, _ := c.node.raft.state()
	return term
}
