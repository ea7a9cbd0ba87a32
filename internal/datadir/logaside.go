package datadir

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/wal"
)

// A log that is damaged before its end is put aside, and a new one begins with what comes
// before the damage. From there on it is a log that has lost its end: a leader sends the rest,
// and until then the node does not vote, nor stand for election (see ballot).
//
// That is sound because what this node acknowledged is in the logs of a majority that it may
// not be counted to any more, and is not: it gives no vote in or before the term that it
// was in, and after that for those only whose log goes beyond that term, or it has been told
// by the leader that it follows what it had acknowledged. It does so in doubt, as if an
// older copy had been put back, since what can be read of a damaged log does not prove where
// that ended. The doubt is durable before the damaged log is touched.
//
// It is done only if the other voters are a majority without this node: if not, they could
// not elect a leader that sends the rest, and what is readable behind the damage may be the
// only copy. What is readable may name members that were removed behind the damage, so the
// others must be a majority of those voters, too, that the state still records as such.

// renewLog replaces a damaged log by what can be read of it before the damage. If it cannot,
// it returns the damage, and the log is as it was.
func (d *Dir) renewLog(damage error) (raftlog.Engine, error) {
	var corrupt *wal.CorruptError
	if !errors.As(damage, &corrupt) || d.cfg.Disk != nil {
		return nil, damage
	}
	r := raftlog.Replacement{Dir: d.cfg.Path}
	err := r.Make(wal.Options{SegmentBytes: d.cfg.SegmentBytes, CacheBytes: -1, Logger: d.cfg.Logger},
		func(made raftlog.Engine) error {
			return d.checkOthersElect(
				d.lastServers(func(from uint64) []raft.Server { return raftlog.LastServers(made, from) }))
		})
	if err == nil {
		err = d.Mark.NoteLoss(raftlog.Loss{Had: d.Mark.Position(), Doubt: d.Vote.Promised()})
	}
	if err == nil {
		err = r.Place()
	}
	if err != nil {
		return nil, errors.Join(damage, err, r.Discard())
	}
	d.cfg.Logger.Error("the log is damaged; it is put aside, and the node goes on with what comes "+
		"before the damage. It does not vote, nor stand for election, until a leader has sent it the rest", "folder",
		filepath.Join(d.cfg.Path, raftlog.DamagedName), "error", corrupt.Reason,
		"file", corrupt.File, "offset", corrupt.Offset)
	return d.openEngine()
}

// checkOthersElect refuses unless the other voters can elect a leader without this node, by the
// servers that the log tells of and the members that the state records.
func (d *Dir) checkOthersElect(servers []raft.Server) error {
	members, err := fsm.StoredMembers(d.cfg.Path)
	if err != nil {
		return fmt.Errorf("the members are not known for certain: %w", err)
	}
	if err := checkVoters(d.cfg.NodeID, servers, members); err != nil {
		return err
	}
	if d.Vote.Promised() == 0 {
		return errors.New("the terms that this node has been in are not known")
	}
	return nil
}

// checkVoters refuses unless the others are a majority without the node self, of the voters that
// the log tells of, and of those whom the state still records as voters. Below turn.Level2 the state does not tell
// voters from learners, so that a member of which the log says nothing counts as a learner.
func checkVoters(self string, servers []raft.Server, members []codec.Member) error {
	recorded := make(map[string]bool)
	for _, m := range members {
		recorded[m.ID] = !m.Learner
	}
	others, known := 0, 0
	for _, s := range servers {
		if s.Suffrage != raft.Voter || string(s.ID) == self {
			continue
		}
		others++
		if recorded[string(s.ID)] {
			known++
		}
	}
	if err := checkMajority(others, "by what is readable of the log"); err != nil {
		return err
	}
	return checkMajority(known, "by the state")
}

// checkMajority refuses unless so many other voters are a majority without this node, which
// counts as a voter: it may have become one behind the damage.
func checkMajority(others int, by string) error {
	voters := others + 1
	if others >= voters/2+1 {
		return nil
	}
	return fmt.Errorf("of %d voters, as far as is known, %d are other nodes (%s): they cannot replace "+
		"what this one lost. "+
		"If no other node has it, put a whole copy of the data directory in its place", voters, others, by)
}

// ForgetDamagedLog removes what was put aside when the log has again what it had.
func (d *Dir) ForgetDamagedLog() {
	if _, missing := d.Mark.Lost(); missing {
		return
	}
	if err := (raftlog.Replacement{Dir: d.cfg.Path}).Forget(); err != nil {
		d.cfg.Logger.Warn("cannot remove a damaged log that is no longer needed", "folder",
			filepath.Join(d.cfg.Path, raftlog.DamagedName), "error", err)
	}
}
