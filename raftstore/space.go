package raftstore

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/diskspace"
	"github.com/turnlog/turnlog/internal/requests"
	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/turn"
)

// newSpace needs the connections to other nodes.
func (n *Node) newSpace() *diskspace.Watcher {
	s := &n.cfg.Storage
	return diskspace.NewWatcher(diskspace.Config{
		Node: n.id, Dir: n.cfg.DataDir, Reserve: s.ReserveBytes, Every: s.CheckEvery,
		Forget: 5 * (s.CheckEvery + requests.StatusTime), Wait: n.cfg.Calls.LeaderWait,
		FreeBytes: s.FreeBytes, FreeFiles: s.FreeFiles,
		State: n.data.State, Log: spaceLog{n}, Cluster: spaceCluster{n}, LogFull: n.data.LogFull,
		Changed: func() { n.writes.wake() }, Logger: n.log,
	})
}

// logMayGrow reports whether the log may take so many bytes more of the disk. Before the node runs it may.
func (n *Node) logMayGrow(bytes int64) bool { return n.space == nil || n.space.Grants(bytes) }

// spaceLog implements diskspace.Log.
type spaceLog struct{ node *Node }

func (l spaceLog) Unapplied() uint64 {
	applied, _ := l.node.data.State.Applied()
	return uint64(l.node.data.Log.TailBytes(applied + 1))
}

func (l spaceLog) Room() uint64 { return uint64(l.node.data.Log.Room()) }

func (l spaceLog) Wanted() uint64 { return uint64(l.node.data.Log.Wanted()) }

func (l spaceLog) SaveSpace(save bool) { l.node.data.Log.SaveSpace(save) }

// spaceCluster implements diskspace.Cluster.
type spaceCluster struct{ node *Node }

func (c spaceCluster) Leads() bool { return c.node.raft.Leads() }

func (c spaceCluster) Voters() (others []string, self bool) { return c.node.raft.Voters() }

func (c spaceCluster) Connected(id string) bool { return c.node.net.Connected(id) }

func (c spaceCluster) HandOver(ctx context.Context) error { return c.node.TransferLeadership(ctx) }

func (c spaceCluster) Ask(ctx context.Context, id, rejects string) (diskspace.Report, error) {
	s, err := c.node.peers.StatusAs(ctx, id, requests.LeaderNotice{Rejects: rejects})
	return diskspace.Report{Short: s.NoSpace, Why: s.Space, LogFull: s.NoLog}, err
}

func (c spaceCluster) MoveTime(ctx context.Context) error {
	_, err := c.node.writes.propose(ctx, nil, &codec.Tick{})
	return err
}

// roomForChange returns why a change of the configuration may find no room in the log, nil if
// it will. Raft goes on with a change as if it were stored, so that a node must stop if it is
// not (see rejected in raftlog/proposal.go); and the retry would stop the next leader.
func (n *Node) roomForChange(ctx context.Context) error {
	n.space.Check()
	room := n.data.LogHasRoom
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

// heed is told what a node says that asks for the status: the leader, what it rejects.
func (n *Node) heed(from string, notice requests.LeaderNotice) {
	if leader, _ := n.lead.Leader(); leader != from {
		return
	}
	var why *turn.Error
	if notice.Rejects != "" {
		why = turn.Errorf(turn.ReadOnly, "%s", notice.Rejects)
	}
	n.space.Hear(why)
}
