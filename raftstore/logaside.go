package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/wal"
)

// A log that is damaged before its end is put aside, and a new one begins with what comes
// before the damage. From there on it is a log that has lost its end: a leader sends the rest,
// and until then the node does not vote, nor stand for election (see ballot).
//
// That is sound because what this node acknowledged is in the logs of a majority that it may
// not be counted to any more, and is not: it votes for nobody in or before the term that it
// was in, and after that for those only whose log goes beyond that term, or it has been told
// by the leader that it follows what it had acknowledged. It does so in doubt, as if an
// older copy had been put back, since what can be read of a damaged log does not prove where
// that ended. The doubt is durable before the damaged log is touched.
//
// It is done only if the other voters are a majority without this node: if not, they could
// not elect a leader that sends the rest, and what is readable behind the damage may be the
// only copy. What is readable may name members that were removed behind the damage, so the
// others must be a majority of those voters, too, that the state still records.
//
//	damaged-log  the log as it was, until a leader has sent what was in it
//	new-log      the one that is to take its place, in the making
const (
	logAsideName = "damaged-log"
	newLogName   = "new-log"
)

// renewLog replaces a damaged log by what can be read of it before the damage. If it cannot,
// it returns the damage, and the log is as it was.
func (n *Node) renewLog(dir string, damage error) (raftlog.Engine, error) {
	var corrupt *wal.CorruptError
	if !errors.As(damage, &corrupt) || n.cfg.LogDisk != nil {
		return nil, damage
	}
	folder, fresh := filepath.Join(dir, walName), filepath.Join(dir, newLogName)
	if err := os.RemoveAll(fresh); err != nil {
		return nil, errors.Join(damage, err)
	}
	err := n.salvage(folder, fresh)
	if err == nil {
		err = n.mark.NoteLoss(raftlog.Loss{Had: n.mark.Position(), Doubt: n.stable.Promised()})
	}
	if err == nil {
		err = putLogAside(dir)
	}
	if err != nil {
		return nil, errors.Join(damage, err, os.RemoveAll(fresh))
	}
	n.log.Error("the log is damaged; it is put aside, and the node goes on with what comes before the damage. It does not vote, "+
		"nor stand for election, until a leader has sent it the rest", "folder", filepath.Join(dir, logAsideName), "error", corrupt.Reason,
		"file", corrupt.File, "offset", corrupt.Offset)
	return n.openEngine(dir)
}

// salvage makes a new log of the entries before the damage in another one. It fails if no
// other node is known to have the rest.
func (n *Node) salvage(from, to string) error {
	// What the log would have held if it ended there; the damage itself is known.
	report, _ := wal.Walk(from, wal.Options{}, nil)
	log, err := wal.Open(to, wal.Options{SegmentBytes: n.cfg.Storage.SegmentBytes, CacheBytes: -1, Logger: n.log})
	if err != nil {
		return err
	}
	if report.LastIndex > 0 {
		err = copyPrefix(from, log, report.FirstIndex, report.LastIndex)
	}
	if err == nil {
		err = n.checkOthersElect(filepath.Dir(from), n.lastServers(func(from uint64) []raft.Server { return raftlog.LastServers(raftlog.OverWAL(log), from) }))
	}
	return errors.Join(err, log.Close())
}

const copyBytes = 4 << 20 // of records at a time

// copyPrefix copies the records from first to last, which come before the damage.
func copyPrefix(from string, to *wal.Log, first, last uint64) error {
	var records []wal.Record
	bytes, next := 0, first
	flush := func() error {
		err := to.Append(records)
		records, bytes = nil, 0
		return err
	}
	_, err := wal.Walk(from, wal.Options{}, func(b wal.Batch) error {
		batch, err := b.Records()
		if err != nil {
			return err
		}
		if b.Index < next && b.Index >= first { // it takes the place of some
			if err := flush(); err != nil {
				return err
			}
			if err := to.TruncateAfter(b.Index - 1); err != nil {
				return err
			}
			next = b.Index
		}
		for _, r := range batch {
			if r.Index != next || r.Index > last {
				continue
			}
			records, next = append(records, r), next+1
			if bytes += len(r.Data); bytes >= copyBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var corrupt *wal.CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if to.LastIndex() != last {
		return fmt.Errorf("of the damaged log, entries %d to %d are readable, and %d was copied last", first, last, to.LastIndex())
	}
	return nil
}

// checkOthersElect refuses unless the other voters can elect a leader without this node, by the
// servers that the log tells of and the members that the state in dir records.
func (n *Node) checkOthersElect(dir string, servers []raft.Server) error {
	members, err := fsm.StoredMembers(dir)
	if err != nil {
		return fmt.Errorf("raftstore: who the members are is not known for certain: %w", err)
	}
	if err := checkVoters(n.id, servers, members); err != nil {
		return err
	}
	if n.stable.Promised() == 0 {
		return errors.New("raftstore: it is not known what terms this node has been in")
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
	return fmt.Errorf("raftstore: of %d voters, as far as is known, %d are other nodes (%s): they cannot replace what this one lost. "+
		"If no other node has it, put a whole copy of the data directory in its place", voters, others, by)
}

// putLogAside has the new log change places with the damaged one. After a crash in between
// there is no log, and finishLog puts the damaged one back.
func putLogAside(dir string) error {
	folder, aside := filepath.Join(dir, walName), filepath.Join(dir, logAsideName)
	if _, err := os.Stat(aside); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(folder, aside); err != nil {
			return err
		}
	} else if err := os.RemoveAll(folder); err != nil { // the first one had more
		return err
	}
	if err := os.Rename(filepath.Join(dir, newLogName), folder); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(dir)
}

// finishLog undoes what a crash left of putLogAside.
func finishLog(dir string) error {
	folder, aside := filepath.Join(dir, walName), filepath.Join(dir, logAsideName)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(aside, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return vfs.OS{}.SyncDir(dir)
}

// forgetLog removes what was put aside when the log has again what it had.
func (n *Node) forgetLog() {
	if _, missing := n.mark.Lost(); missing {
		return
	}
	aside := filepath.Join(n.cfg.DataDir, logAsideName)
	if _, err := os.Stat(aside); err != nil {
		return
	}
	if err := os.RemoveAll(aside); err != nil {
		n.log.Warn("cannot remove a damaged log that is not needed any more", "folder", aside, "error", err)
	}
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
