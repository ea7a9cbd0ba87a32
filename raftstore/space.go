package raftstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/diskspace"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// newSpace needs the connections to other nodes.
func (n *Node) newSpace() *diskspace.Watcher {
	s := &n.cfg.Storage
	return diskspace.NewWatcher(diskspace.Config{
		Node: n.id, Dir: n.cfg.DataDir, Reserve: s.ReserveBytes, Every: s.CheckEvery,
		Forget: 5 * (s.CheckEvery + statusTime), Wait: n.cfg.Calls.LeaderWait,
		FreeBytes: s.FreeBytes, FreeFiles: s.FreeFiles,
		State: n.state, Cluster: spaceCluster{n}, LogFull: n.logIsFull,
		Changed: func() { n.writes.wake() }, Logger: n.log,
	})
}

// spaceCluster implements diskspace.Cluster.
type spaceCluster struct{ node *Node }

func (c spaceCluster) Leads() bool { return c.node.raft.leads() }

func (c spaceCluster) Voters() (others []string, self bool) { return c.node.raft.voters() }

func (c spaceCluster) Connected(id string) bool { return c.node.net.Connected(id) }

func (c spaceCluster) HandOver(ctx context.Context) error { return c.node.TransferLeadership(ctx) }

// leaderNotice goes with a leader's request for a status.
type leaderNotice struct {
	Rejects string `json:"rejects,omitempty"` // why operations that need space are rejected; empty: they are not
}

func (c spaceCluster) Ask(ctx context.Context, id, rejects string) (diskspace.Report, error) {
	notice, err := json.Marshal(leaderNotice{rejects})
	if err != nil {
		return diskspace.Report{}, err
	}
	s, err := c.node.askStatus(ctx, id, notice)
	return diskspace.Report{Short: s.NoSpace, Why: s.Space, LogFull: s.NoLog}, err
}

func (c spaceCluster) MoveTime(ctx context.Context) error {
	_, err := c.node.propose(ctx, nil, &codec.Tick{})
	return err
}

// logIsFull reports whether the log has room for a few more entries only, and the
// disk has none for another segment.
func (n *Node) logIsFull(free uint64) bool {
	if n.cfg.Log.Engine == "boltdb" {
		return free < 8<<20 // it has nothing in reserve
	}
	return free < uint64(n.cfg.Storage.SegmentBytes) && n.logs.Room() < n.logMargin()
}

// logMargin is how much room, in bytes, the log keeps for what must not fail.
func (n *Node) logMargin() int64 { return min(1<<20, n.cfg.Storage.SegmentBytes/16) }

// roomForChange returns why a change of the configuration may find no room in the log, nil if
// it will. Raft goes on with a change as if it were stored, so that a node must stop if it is
// not (see rejected in raftlog/proposal.go); and the retry would stop the next leader.
func (n *Node) roomForChange(ctx context.Context) error {
	n.space.Check()
	room := func() bool { return n.cfg.Log.Engine == "boltdb" || n.logs.Room() >= n.logMargin() }
	for end := time.Now().Add(time.Second); !room() && time.Now().Before(end); { // the next segment is being made
		if !signal.Wait(ctx, nil, 5*time.Millisecond) {
			break
		}
	}
	if n.space.Exhausted() || n.space.LogFull() || !room() {
		return turn.Errorf(turn.ReadOnly,
			"the configuration was not changed: the disk of node %s, or of too many others, has no room for the "+
				"log: %s", n.id, diskspace.Advice)
	}
	return nil
}
