package datadir

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/internal/raftlog"
)

// openLog opens the log, and what proves that it is whole.
func (d *Dir) openLog() (err error) {
	if err := d.checkEngine(); err != nil {
		return err
	}
	if d.cfg.Engine != "boltdb" && d.cfg.Disk == nil {
		if err := (raftlog.Replacement{Dir: d.cfg.Path}).Undo(); err != nil {
			return err
		}
	}
	if err := d.checkLogKept(); err != nil {
		return err
	}
	if d.Mark, err = raftlog.OpenHighWater(d.logDisk(), d.cfg.Path, d.Identity.Get().Incarnation, d.cfg.Failure.Halt,
		d.cfg.Logger); err != nil {
		return err
	}
	e, err := d.openEngine()
	if err != nil {
		if e, err = d.renewLog(err); err != nil {
			return err
		}
	}
	if d.cfg.Wrap != nil {
		e = d.cfg.Wrap(e)
	}
	d.Log = raftlog.New(e, raftlog.Config{
		Mark: d.Mark, Fail: d.cfg.Failure.Fail, Halt: d.haltLog,
		Known: d.known, Placed: d.cfg.Raft.Placed, Leads: d.cfg.Raft.Leads,
	})
	return nil
}

// known returns what this node knows to be committed.
func (d *Dir) known() raftlog.Known {
	var k raftlog.Known
	k.Applied.Index, k.Applied.Term = d.State.Applied()
	k.Commit = max(d.cfg.Raft.Committed(), d.alone.Load())
	return k
}

// NoteAlone notes that everything in the log is committed if servers, those of its newest configuration, have this
// node as their only voter: what is durable here is on a majority. It is to be called before Raft takes a leader's
// messages.
func (d *Dir) NoteAlone(servers []raft.Server) {
	voter := slices.ContainsFunc(servers, func(s raft.Server) bool {
		return s.Suffrage == raft.Voter && string(s.ID) == d.cfg.NodeID
	})
	if voter && !d.otherVoter(servers) {
		d.alone.Store(d.Log.LastDurable())
	}
}
