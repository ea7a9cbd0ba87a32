package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vote"
	"github.com/turnlog/turnlog/turn"
)

// Reseed is what to do with a node whose data is not what it wrote.
const Reseed = "keep a copy of the data directory, remove the node from the cluster, and add it again with an empty one"

// beyondRepair adds to an error that tells of damage, or may, what to do about it.
func beyondRepair(err error) error {
	switch {
	case turn.Is(err, turn.Corrupt) || fsm.IsDamage(err):
		return fmt.Errorf("%w; %s", err, Reseed)
	case turn.Is(err, turn.Newer):
		// Not every version number has a checksum.
		return fmt.Errorf("%w; if no newer turnlog has run here, that is damage: %s", err, Reseed)
	}
	return err
}

// checkReleased refuses a directory that a version before the first release wrote: it kept term and
// vote in another file.
func checkReleased(dir string) error {
	path := filepath.Join(dir, "raft.db")
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return fmt.Errorf("%s is of a turnlog that was never released, whose data this one does not read; "+
		"nothing was changed: export the sessions with that turnlog, and import them into a new cluster", path)
}

// checkLogKept refuses a directory of a cluster's member that has no log: a node
// which forgot what it acknowledged could help to lose it.
func (d *Dir) checkLogKept() error {
	path := filepath.Join(d.cfg.Path, raftlog.WALName)
	_, err := d.logDisk().List(path)
	if d.cfg.Engine == "boltdb" {
		path = filepath.Join(d.cfg.Path, boltName)
		_, err = os.Stat(path)
	}
	if !errors.Is(err, fs.ErrNotExist) || d.Identity.Get().ClusterID == "" {
		return nil
	}
	return fmt.Errorf("%s is missing, and with it what this node acknowledged; %s", path, Reseed)
}

// Settle brings log, snapshot and state together, and holds the log against what else the node knows of it.
func (d *Dir) Settle() error {
	if err := d.Adopt(); err != nil {
		return err
	}
	snap := d.Snapshots.Position()
	if snap.Index > 0 {
		if err := d.Log.FitToSnapshot(snap.Index, snap.Term); err != nil {
			return err
		}
	}
	return d.checkLog(snap)
}

// Adopt takes over what snapshot there is.
func (d *Dir) Adopt() error { return d.damaged(d.Snapshots.Adopt()) }

// damaged halts the state machine if err tells of damage to the state, or to a
// snapshot, that can be repaired. It returns what is not repaired.
func (d *Dir) damaged(err error) error {
	if err == nil || !fsm.IsDamage(err) || d.Alone() {
		return beyondRepair(err)
	}
	d.State.Halt(err)
	return nil
}

// checkLog holds the log against what else the node knows of it, and refuses what
// cannot have come about. A log that has lost its end is not refused: the others have
// what was in it, and the node does not vote without that (see ballot).
func (d *Dir) checkLog(snap raftlog.Position) error {
	if first := d.Log.FirstDurable(); first > snap.Index+1 {
		what := fmt.Sprintf("%s ends at entry %d, as if an older copy had been put back", d.Snapshots.MarkerPath(),
			snap.Index)
		if snap.Index == 0 {
			what = d.Snapshots.MarkerPath() + ", which stands for those before, is missing"
		}
		return fmt.Errorf("the log begins with entry %d, and %s; %s", first, what, Reseed)
	}
	if err := d.checkTermReached(); err != nil {
		return err
	}
	end, err := d.Log.End()
	if err != nil {
		return err
	}
	had, by := d.Mark.Position(), raftlog.MarkName
	var state raftlog.Position
	if state.Index, state.Term = d.State.Durable(); state.Index > end.Index && had.Before(state) {
		had, by = state, "the state"
	}
	if !end.Before(had) {
		d.Mark.Reached(end)
		return nil
	}
	d.cfg.Logger.Error("the log has lost its end: to damage, or to an older copy that was put back; the node does not "+
		"vote for a "+
		"candidate with less, nor stand for election, until a leader has sent it what is missing", "end", end, "had",
		had, "known_from", by)
	return d.Mark.NoteLoss(raftlog.Loss{Had: had})
}

// OnlyVoter is what to do if no leader is elected, since a node has lost the end of its log and knows of learners, but
// of no other voter.
const OnlyVoter = "no other voter is known that has what is lost. If a learner was given a vote in what is lost, " +
	"start it: it leads, and sends the rest. If not, stop this node, and put a whole and newer copy of its data " +
	"directory in its place; or begin a new cluster with the data of the learner that has most (turnlog recover)"

// CheckHelp fails if the log has lost its end and no other node is known that could send
// the missing entries. If an older copy was put back, there are others: they have told so.
//
// A learner could, if what is lost gave it a vote. The node waits for that; it does not lead meanwhile: see ballot. No
// record of a learner tells that it is one still: a vote is recorded after it was given.
//
// servers are those that what is left of the log names. It may name members that were removed in what is
// lost; a state that goes beyond the log knows.
func (d *Dir) CheckHelp(servers []raft.Server) error {
	lost, missing := d.Mark.Lost()
	beyond, err := d.stateBeyondLog()
	switch {
	case err != nil || !missing || lost.Restored:
		return err
	case len(servers) == 0:
		return fmt.Errorf("the log has lost %v, and with it who the members are; %s", lost, Reseed)
	case len(servers) > 1 && !(beyond && d.recordedAlone()):
		if !d.otherVoter(servers) || beyond && d.recordedOnlyVoter() {
			d.cfg.Logger.Error("this node leads no more: its log has lost its end, and "+OnlyVoter, "lost", lost)
		}
		return nil
	}
	advice := "; or, to go on without what is lost, delete the file " + d.Mark.Path() + " and start again"
	if beyond { // it would apply no entry that takes the place of one that is lost
		advice = ". If there is none, begin a new cluster with the state of this node, which goes beyond the log " +
			"(turnlog recover); if the cluster has other members after all, " + Reseed
	}
	return fmt.Errorf("the log has lost %v, and no other voter has it: to damage, or to an older copy that "+
		"was put back. Put a whole and newer copy of the data directory in its place%s", lost, advice)
}

// CheckCopy fails if an older copy of this node's data was put back that knows no other member, though others know
// this one. A node that is alone leads without asking, so that none of what it acknowledged may be in their logs.
func (d *Dir) CheckCopy(servers []raft.Server) error {
	lost, missing := d.Mark.Lost()
	if !missing || !lost.Restored || len(servers) != 1 || string(servers[0].ID) != d.cfg.NodeID {
		return nil
	}
	return fmt.Errorf("this node is the only member that it knows, but other nodes of its cluster have seen %v of it: "+
		"an older copy of this node's data was put back, and what it acknowledged since then is not in it; %s",
		lost.Had,
		Reseed)
}

// otherVoter reports whether one of the servers is a voter beside this node.
func (d *Dir) otherVoter(servers []raft.Server) bool {
	return slices.ContainsFunc(servers, func(s raft.Server) bool {
		return s.Suffrage == raft.Voter && string(s.ID) != d.cfg.NodeID
	})
}

// stateBeyondLog reports whether the state includes entries that the log has lost.
func (d *Dir) stateBeyondLog() (bool, error) {
	end, err := d.Log.End()
	durable, _ := d.State.Durable()
	return durable > end.Index, err
}

// recordedAlone reports whether the state proves that there is no other member.
func (d *Dir) recordedAlone() bool { return len(d.State.Members()) == 1 && d.recordedOnlyVoter() }

// recordedOnlyVoter reports whether the state has recorded all members, and no other one with a vote. A cluster
// begins without records and makes them one by one, all of them before its level rises.
func (d *Dir) recordedOnlyVoter() bool {
	members := d.State.Members()
	self := func(m codec.Member) bool { return m.ID == d.cfg.NodeID }
	voter := func(m codec.Member) bool { return !self(m) && !m.Learner }
	return slices.ContainsFunc(members, self) && !slices.ContainsFunc(members, voter) && d.State.Level() > turn.Level0
}

// checkTermReached refuses a log whose last entry is of a higher term than the
// node is known to have been in: it has forgotten that, and perhaps its vote.
func (d *Dir) checkTermReached() error {
	end, err := d.Log.End()
	if err != nil {
		return err
	}
	if mark := d.Mark.Position(); end.Term < mark.Term {
		end = mark
	}
	if promised := d.Vote.Promised(); end.Term > promised {
		return fmt.Errorf("the log had an entry of term %d, %s knows of term %d only; %s",
			end.Term, filepath.Join(d.cfg.Path, vote.FileName), promised, Reseed)
	}
	return nil
}
