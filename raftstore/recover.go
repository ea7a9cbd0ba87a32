package raftstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// A cluster that has lost a majority of its nodes for good elects no leader any more. A recovery makes a
// new cluster of what one of the others has: its state, and all that its log has behind that.
//
// It is not the old cluster made to go on. That one decided by majorities: what a lost majority
// acknowledged without this node is not here, and lost nodes that came back after all would go on from
// what they have. So the result is another cluster, with a directory, an id and incarnations of its own, as a
// restore makes it; and the old directory is marked, so that its node does not start again.
//
// The log may end with entries of which this node does not know whether they were committed. They are
// kept: an entry that was committed may be among them, and to drop it would lose what was acknowledged.
// So a write whose client was not answered may have taken place.

// leftName is the file of a data directory that says that a recovery took its state over.
const leftName = "recovered-elsewhere"

// Survivor is what a node has of a cluster, as its data directory tells while the node does not run.
type Survivor struct {
	Dir, NodeID, ClusterID string
	// End is where its log ends. Of several nodes, the one with the highest term has most of what was
	// acknowledged; of those with the same term, the one with the highest index.
	End      raftlog.Position
	Durable  uint64   // the last log entry that its state file includes
	Servers  []string // ids of the members, by the last configuration that it has
	Lost     string   // what its log has lost; empty: nothing that it knows of
	LeftFor  string   // why no recovery may use it again; empty: it may
	openNode *Node
}

// Survey opens the data directory of a node that does not run, as a start of it would, and tells what
// it has. The directory is locked until Close.
func Survey(dir string, log *slog.Logger) (*Survivor, error) {
	id, err := identity.NodeOf(dir)
	if err != nil {
		return nil, err
	}
	engine := "wal"
	if _, err := os.Stat(filepath.Join(dir, boltName)); err == nil {
		engine = "boltdb"
	}
	if err := checkFinished(dir); err != nil {
		return nil, err
	}
	n, err := offline(Config{NodeID: id, DataDir: dir, Log: Log{Engine: engine}, Logger: log})
	if err != nil {
		return nil, err
	}
	s := &Survivor{Dir: dir, NodeID: id, openNode: n}
	if err := n.aside(s.look); err != nil {
		return nil, errors.Join(err, n.storage.close())
	}
	return s, nil
}

// look opens the files and looks what is in them.
func (s *Survivor) look() error {
	n := s.openNode
	if err := n.openFiles(); err != nil {
		return err
	}
	if err := n.adopt(); err != nil {
		return err
	}
	snap := n.snaps.Position()
	if snap.Index > 0 {
		if err := n.logs.FitToSnapshot(snap.Index, snap.Term); err != nil {
			return err
		}
	}
	if err := n.checkLog(snap); err != nil {
		return err
	}
	if damage, _ := n.state.Damage(); damage != nil {
		return fmt.Errorf("raftstore: the state in %s is damaged: recover another node that is left, or restore a "+
			"backup: %w", s.Dir, damage)
	}
	var err error
	if s.End, err = n.logs.End(); err != nil {
		return err
	}
	s.Durable, _ = n.state.Durable()
	if lost, missing := n.mark.Lost(); missing {
		s.Lost = lost.String()
	}
	s.ClusterID = n.ident.Get().ClusterID
	for _, server := range n.lastServers(n.logs.LastServers) {
		s.Servers = append(s.Servers, string(server.ID))
	}
	why, err := descriptors.ReadFile(filepath.Join(s.Dir, leftName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.LeftFor = string(why)
	return nil
}

// Close gives the directory up.
func (s *Survivor) Close() error { return s.openNode.storage.close() }

// Recover makes a new cluster, as Restore does, of all that the node has. From then on the old
// directory is left: its node does not start any more. It is marked last, when all that is to be written is: what
// fails before can be repeated as it was, what fails later with a directory that is left already.
func (s *Survivor) Recover(ctx context.Context, c NewCluster) (Origin, error) {
	ctx, cancel := context.WithCancel(ctx)
	flushed := make(chan error, 1)
	go func() { flushed <- s.openNode.state.Run(ctx) }() // a log can hold more than memory
	err := s.openNode.aside(func() error { return s.openNode.replay(ctx) })
	cancel()
	if ended := <-flushed; err == nil && ended != nil && !errors.Is(ended, context.Canceled) {
		err = ended
	}
	if err != nil {
		return Origin{}, err
	}
	d, err := s.openNode.state.Dump()
	if err != nil {
		return Origin{}, err
	}
	dump := s.openNode.snaps.StreamAside(d)
	defer dump.Close()
	c.Engine = cmp.Or(c.Engine, s.openNode.cfg.Log.Engine)
	c.Origin = Origin{By: "recover", At: time.Now().UTC(), Of: s.Dir, ClusterID: s.ClusterID, Lost: s.Lost}
	left := false
	origin, err := Restore(c, dump, func(fsm.DumpContent) error {
		err := s.leave(c.DataDir)
		left = err == nil
		return err
	})
	if err != nil && left {
		err = fmt.Errorf("%w with --again, since %s is marked as recovered already; its data are whole", err, s.Dir)
	}
	return origin, err
}

// leave marks the old directory.
func (s *Survivor) leave(to string) error {
	if abs, err := filepath.Abs(to); err == nil {
		to = abs
	}
	text := fmt.Sprintf("at %s its state was taken over by the cluster that begins in %s\n",
		time.Now().UTC().Format(time.RFC3339), to)
	return smallfile.Replace(filepath.Join(s.Dir, leftName), []byte(text))
}

// checkNotLeft refuses a directory whose state a recovery took over.
func checkNotLeft(dir string) error {
	path := filepath.Join(dir, leftName)
	why, err := descriptors.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("raftstore: read whether the directory was left: %w", err)
	}
	return fmt.Errorf("raftstore: the node is not to start, says %s: %s; to add a node to the new cluster, begin "+
		"with an empty directory and `turnlog serve --join`", path, why)
}

// replay applies what the log has behind the state.
func (n *Node) replay(ctx context.Context) error {
	index, _ := n.state.Applied()
	for index++; index <= n.logs.LastDurable(); index++ {
		var l raft.Log
		if err := n.logs.Entry(index, &l); err != nil {
			return fmt.Errorf("raftstore: read log entry %d: %w", index, err)
		}
		switch l.Type {
		case raft.LogCommand:
			n.state.Apply(l.Index, l.Term, l.Data)
		case raft.LogConfiguration:
			n.state.Note(l.Index, l.Term)
		default:
			continue // Raft's own
		}
		if err := n.state.Err(); err != nil {
			return fmt.Errorf("raftstore: apply log entry %d: %w", index, err)
		}
		if damage, halted := n.state.Damage(); halted {
			return fmt.Errorf("raftstore: apply log entry %d: %w", index, damage)
		}
	}
	return n.state.Flush(ctx)
}
