package datadir

import (
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
)

// Committed returns the last entry that this node knows to be committed: the last that its state includes, or the end
// of its log if another node is the only voter. That one sends nothing that is not durable there, and so committed.
func (d *Dir) Committed() raftlog.Position {
	var p raftlog.Position
	p.Index, p.Term = d.State.Applied()
	if end := d.End(); p.Before(end) && d.otherOnlyVoter() {
		return end
	}
	return p
}

// otherOnlyVoter reports whether the only voter is another node, by Raft's configuration or, before Raft runs, by what
// marker and log tell.
func (d *Dir) otherOnlyVoter() bool {
	servers := d.cfg.Raft.Latest().Servers
	if !d.cfg.Raft.Runs() {
		servers = d.atStart.servers(d)
	}
	voters, self := 0, false
	for _, s := range servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || string(s.ID) == d.cfg.NodeID
		}
	}
	return voters == 1 && !self
}

// Lacks reports whether the log surely does not have the entry at that position, and did not have it before it was
// compacted. Of one that is known to have lost its end, nothing is sure: see ballot.
func (d *Dir) Lacks(p raftlog.Position) bool {
	snap := d.Snapshots.Position()
	_, missing := d.Mark.Lost()
	switch {
	case p.Index == 0 || missing:
		return false
	case p.Index == snap.Index:
		return p.Term != snap.Term
	case p.Index > max(d.Log.LastDurable(), d.End().Index):
		return true
	case p.Index < d.Log.FirstDurable():
		return false // it was compacted
	}
	var l raft.Log
	err := d.Log.Entry(p.Index, &l)
	return err == nil && l.Term != p.Term
}

// atStart is what the log told of the members when it was first read. Nothing is added to it before Raft runs.
type atStart struct {
	last   sync.Once
	latest []raft.Server

	was    sync.Once
	member bool
}

func (a *atStart) servers(d *Dir) []raft.Server {
	a.last.Do(func() { a.latest = d.LastServers() })
	return a.latest
}

// WasMember reports whether marker or log tell that this node was a member, as of when it is first asked.
func (d *Dir) WasMember() bool {
	d.atStart.was.Do(func() {
		servers, at := snapshot.LastServers(d.snapshotsPath())
		d.atStart.member = slices.ContainsFunc(servers, d.isSelf) ||
			raftlog.HasServer(d.Log, max(at+1, d.Log.FirstDurable()), d.Log.LastDurable(), d.isSelf)
	})
	return d.atStart.member
}

func (d *Dir) isSelf(s raft.Server) bool { return string(s.ID) == d.cfg.NodeID }
