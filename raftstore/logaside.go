package raftstore

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
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
// others must be a majority of those voters, too, that the state still records.

// renewLog replaces a damaged log by what can be read of it before the damage. If it cannot,
// it returns the damage, and the log is as it was.
func (n *Node) renewLog(dir string, damage error) (raftlog.Engine, error) {
	var corrupt *wal.CorruptError
	if !errors.As(damage, &corrupt) || n.cfg.Log.Disk != nil {
		return nil, damage
	}
	r := raftlog.Replacement{Dir: dir}
	err := r.Make(wal.Options{SegmentBytes: n.cfg.Storage.SegmentBytes, CacheBytes: -1, Logger: n.log},
		func(made raftlog.Engine) error {
			return n.checkOthersElect(dir,
				n.lastServers(func(from uint64) []raft.Server { return raftlog.LastServers(made, from) }))
		})
	if err == nil {
		err = n.mark.NoteLoss(raftlog.Loss{Had: n.mark.Position(), Doubt: n.stable.Promised()})
	}
	if err == nil {
		err = r.Place()
	}
	if err != nil {
		return nil, errors.Join(damage, err, r.Discard())
	}
	n.log.Error("the log is damaged; it is put aside, and the node goes on with what comes before the damage. It "+
		"does not vote, "+
		"nor stand for election, until a leader has sent it the rest", "folder",
		filepath.Join(dir, raftlog.DamagedName), "error", corrupt.Reason,
		"file", corrupt.File, "offset", corrupt.Offset)
	return n.openEngine(dir)
}

// checkOthersElect refuses unless the other voters can elect a leader without this node, by the
// servers that the log tells of and the members that the state in dir records.
func (n *Node) checkOthersElect(dir string, servers []raft.Server) error {
	members, err := fsm.StoredMembers(dir)
	if err != nil {
		return fmt.Errorf("raftstore: the members are not known for certain: %w", err)
	}
	if err := checkVoters(n.id, servers, members); err != nil {
		return err
	}
	if n.stable.Promised() == 0 {
		return errors.New("raftstore: the terms that this node has been in are not known")
	}
	return nil
}

// checkVoters refuses unless the others are a majority without the node self, of the voters that
// the log tells of, and of those whom the state still records. The state does not tell voters
// from learners, so that a member of which the log says nothing counts as a learner.
func checkVoters(self string, servers []raft.Server, members []codec.Member) error {
	recorded := make(map[string]bool)
	for _, m := range members {
		recorded[m.ID] = true
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
	return fmt.Errorf("raftstore: of %d voters, as far as is known, %d are other nodes (%s): they cannot replace "+
		"what this one lost. "+
		"If no other node has it, put a whole copy of the data directory in its place", voters, others, by)
}

// forgetLog removes what was put aside when the log has again what it had.
func (n *Node) forgetLog() {
	if _, missing := n.mark.Lost(); missing {
		return
	}
	if err := (raftlog.Replacement{Dir: n.cfg.DataDir}).Forget(); err != nil {
		n.log.Warn("cannot remove a damaged log that is no longer needed", "folder",
			filepath.Join(n.cfg.DataDir, raftlog.DamagedName), "error", err)
	}
}

// hadOthers reports whether, as far as marker and log tell, there are other members.
func (n *Node) hadOthers() bool { return len(n.lastServers(n.logs.LastServers)) > 1 }

// alone reports whether this node is the only member.
func (n *Node) alone() bool {
	if n.raft.Load() == nil {
		return !n.hadOthers()
	}
	return len(n.raft.configuration()) <= 1
}

// lastServers returns the newest configuration that marker and log tell of; none if there is
// none. inLog returns the newest one in the log's entries from an index on, nil if there is none.
func (n *Node) lastServers(inLog func(from uint64) []raft.Server) (servers []raft.Server) {
	servers, at := snapshot.LastServers(filepath.Join(n.cfg.DataDir, snapshotsName))
	if later := inLog(at + 1); later != nil {
		return later
	}
	return servers
}
