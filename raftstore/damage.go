package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vote"
	"github.com/turnlog/turnlog/turn"
)

// reseed is what to do with a node whose data is not what it wrote.
const reseed = "keep a copy of the data directory, remove the node from the cluster, and add it again with an empty one"

// beyondRepair adds to an error that tells of damage, or may, what to do about it.
func beyondRepair(err error) error {
	switch {
	case turn.Is(err, turn.Corrupt) || fsm.IsDamage(err):
		return fmt.Errorf("%w; %s", err, reseed)
	case turn.Is(err, turn.Newer):
		// Not every version number has a checksum.
		return fmt.Errorf("%w; if no newer turnlog has run here, that is damage: %s", err, reseed)
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
	return fmt.Errorf("raftstore: %s is of a turnlog that was never released, whose data this one does not read; "+
		"nothing was changed: export the sessions with that turnlog, and import them into a new cluster", path)
}

// checkLogKept refuses a directory of a cluster's member that has no log: a node
// which forgot what it acknowledged could help to lose it.
func (n *Node) checkLogKept(dir string) error {
	path := filepath.Join(dir, raftlog.WALName)
	_, err := n.logDisk().List(path)
	if n.cfg.Log.Engine == "boltdb" {
		path = filepath.Join(dir, boltName)
		_, err = os.Stat(path)
	}
	if !errors.Is(err, fs.ErrNotExist) || n.ident.Get().ClusterID == "" {
		return nil
	}
	return fmt.Errorf("raftstore: %s is missing, and with it what this node acknowledged; %s", path, reseed)
}

// checkLog holds the log against what else the node knows of it, and refuses what
// cannot have come about. A log that has lost its end is not refused: the others have
// what was in it, and the node does not vote without that (see ballot).
func (n *Node) checkLog(snap raftlog.Position) error {
	if first := n.logs.FirstDurable(); first > snap.Index+1 {
		what := fmt.Sprintf("%s ends at entry %d, as if an older copy had been put back", n.snaps.MarkerPath(),
			snap.Index)
		if snap.Index == 0 {
			what = n.snaps.MarkerPath() + ", which stands for those before, is missing"
		}
		return fmt.Errorf("raftstore: the log begins with entry %d, and %s; %s", first, what, reseed)
	}
	if err := n.checkTermReached(); err != nil {
		return err
	}
	end, err := n.logs.End()
	if err != nil {
		return err
	}
	had, by := n.mark.Position(), raftlog.MarkName
	var state raftlog.Position
	if state.Index, state.Term = n.state.Durable(); state.Index > end.Index && had.Before(state) {
		had, by = state, "the state"
	}
	if !end.Before(had) {
		n.mark.Reached(end)
		return nil
	}
	n.log.Error("the log has lost its end: to damage, or to an older copy that was put back; the node does not "+
		"vote for a "+
		"candidate with less, nor stand for election, until a leader has sent it what is missing", "end", end, "had",
		had, "known_from", by)
	return n.mark.NoteLoss(raftlog.Loss{Had: had})
}

// checkHelp fails if the log has lost its end and no other node is known that could send
// the missing entries. If an older copy was put back, there are others: they have told so.
//
// What is left of the log may name members that were removed in what is lost. A state that goes
// beyond the log knows.
func (n *Node) checkHelp(r *raft.Raft) error {
	servers := r.GetConfiguration().Configuration().Servers
	lost, missing := n.mark.Lost()
	beyond, err := n.stateBeyondLog()
	switch {
	case err != nil || !missing || lost.Restored:
		return err
	case len(servers) == 0:
		return fmt.Errorf("raftstore: the log has lost %v, and with it who the members are; %s", lost, reseed)
	case len(servers) > 1 && !(beyond && n.recordedAlone()):
		return nil
	}
	advice := "; or, to go on without what is lost, delete the file " + n.mark.Path() + " and start again"
	if beyond { // it would apply no entry that takes the place of one that is lost
		advice = ". If there is none, begin with an empty data directory and import the last export; if the cluster " +
			"has other members after all, " + reseed
	}
	return fmt.Errorf("raftstore: the log has lost %v, and no other node has it: to damage, or to an older copy that "+
		"was put back. Put a whole and newer copy of the data directory in its place%s", lost, advice)
}

// stateBeyondLog reports whether the state includes entries that the log has lost.
func (n *Node) stateBeyondLog() (bool, error) {
	end, err := n.logs.End()
	durable, _ := n.state.Durable()
	return durable > end.Index, err
}

// recordedAlone reports whether the state proves that this node is the only member. A cluster
// begins without records and makes them one by one, all of them before its level rises.
func (n *Node) recordedAlone() bool {
	members := n.state.Members()
	return len(members) == 1 && members[0].ID == n.id && n.state.Level() > turn.Level0
}

// checkTermReached refuses a log whose last entry is of a higher term than the
// node is known to have been in: it has forgotten that, and perhaps its vote.
func (n *Node) checkTermReached() error {
	end, err := n.logs.End()
	if err != nil {
		return err
	}
	if mark := n.mark.Position(); end.Term < mark.Term {
		end = mark
	}
	if promised := n.stable.Promised(); end.Term > promised {
		return fmt.Errorf("raftstore: the log had an entry of term %d, %s knows of term %d only; %s",
			end.Term, filepath.Join(n.cfg.DataDir, vote.FileName), promised, reseed)
	}
	return nil
}
