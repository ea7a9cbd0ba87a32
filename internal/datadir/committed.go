package datadir

import (
	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
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
		servers = d.LastServers()
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
