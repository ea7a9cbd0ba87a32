package raftstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/vfs"
)

// unfinishedName is in a data directory while a restore or a recovery fills it. A node that started there
// would begin an empty cluster.
const unfinishedName = "restore-unfinished"

// NewCluster says where a cluster begins with the state of another one: with one node, to which others
// are added as to any.
type NewCluster struct {
	DataDir string // of its first node: empty, or not there yet
	NodeID  string
	Addr    string // on which the node listens for others; it may change later
	Engine  string // of its log: see Log
	Origin  Origin // what is kept of where the state came from
	Logger  *slog.Logger

	// For tests: called when all is on disk, and before the directory counts as finished.
	seeded, sealed func() error
}

// Restore makes a data directory for the first node of a new cluster, with the state of a dump. The
// cluster has an id of its own, and the node is a new one: nodes of the cluster that the dump is of
// have nothing to do with it, and what clients knew of that cluster's future does not hold in this one
// (see fsm.RenewDump).
//
// check is called when all is on disk, with what the dump held, and says whether it was what it should be. After
// an error or a crash the directory is unfinished: no node starts with it.
func Restore(c NewCluster, dump io.Reader, check func(fsm.DumpContent) error) (Origin, error) {
	if err := claimDir(c.DataDir); err != nil {
		return Origin{}, err
	}
	n, err := c.node()
	if err != nil {
		return Origin{}, err
	}
	var held fsm.DumpContent
	err = n.aside(func() (err error) {
		held, err = n.seed(&c, dump)
		return errors.Join(err, n.storage.close())
	})
	for _, step := range []func() error{
		c.seeded, func() error { return check(held) }, c.sealed, func() error { return finishDir(c.DataDir) },
	} {
		if err == nil && step != nil {
			err = step()
		}
	}
	if err != nil {
		return Origin{}, fmt.Errorf("%w; the directory %s is unfinished, and no node starts with it: empty it, and "+
			"try again", err, c.DataDir)
	}
	return c.Origin, nil
}

// node returns a node that only has files.
func (c *NewCluster) node() (*Node, error) {
	return offline(Config{NodeID: c.NodeID, DataDir: c.DataDir, Peers: Peers{Advertise: c.Addr},
		Log: Log{Engine: c.Engine}, Logger: c.Logger})
}

// offline returns a node that is to have files, and nothing else.
func offline(cfg Config) (*Node, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	return &Node{cfg: cfg, id: cfg.NodeID, log: cfg.Logger.With("node", cfg.NodeID), lead: newKnownLeader(cfg.NodeID),
		consensus: consensus{raft: group{self: cfg.NodeID}}, signals: newSignals(),
		lifecycle: lifecycle{checked: make(chan struct{}), failure: newFailure()}}, nil
}

// aside runs work in a goroutine of its own, which a failing disk ends, and returns its error.
func (n *Node) aside(work func() error) error {
	done := make(chan error, 1)
	go func() {
		defer close(done)
		done <- work()
	}()
	err, returned := <-done
	if !returned {
		return n.reason()
	}
	return err
}

// seed makes the files of a node that has the state of a dump, and an empty log behind it. It returns what the
// dump held.
func (n *Node) seed(c *NewCluster, dump io.Reader) (held fsm.DumpContent, err error) {
	if err := n.openFiles(); err != nil {
		return held, err
	}
	id := identity.RandomID()
	self := codec.Member{ID: n.id, Incarnation: n.ident.Get().Incarnation}
	if held, err = n.takeDump(dump, fsm.Renewal{ClusterID: id, Members: []codec.Member{self}}); err != nil {
		return held, err
	}
	index, term := n.state.Durable()
	if index == 0 {
		return held, errors.New("raftstore: the dump is of a state to which no entry was applied")
	}
	n.stable.SetTerm(term)
	if err := n.beginAfter(index, term); err != nil {
		return held, err
	}
	if err := n.ident.LearnCluster(id); err != nil {
		return held, err
	}
	o := &c.Origin
	o.Index, o.Term, o.NewClusterID = index, term, id
	return held, o.write(n.cfg.DataDir)
}

// takeDump replaces the state by a renewed dump, and returns what that held.
func (n *Node) takeDump(dump io.Reader, renewal fsm.Renewal) (held fsm.DumpContent, err error) {
	r, w := io.Pipe()
	renewed := make(chan error, 1)
	go func() { // ends when the dump does, or it is not read on
		var err error
		held, err = fsm.RenewDump(w, dump, renewal)
		_ = w.CloseWithError(cmp.Or(err, io.ErrUnexpectedEOF)) // of what comes behind its end
		renewed <- err
	}()
	restored := n.state.Restore(r)
	_ = r.CloseWithError(cmp.Or(restored, io.ErrClosedPipe))
	err = cmp.Or(unlessClosed(<-renewed), restored)
	return held, err
}

// unlessClosed returns the error of a writer, unless it is only that its reader failed.
func unlessClosed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// beginAfter makes the state, which ends at an entry, the snapshot behind which the log begins, with this
// node as the only member.
func (n *Node) beginAfter(index, term uint64) error {
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(n.id),
		Address: raft.ServerAddress(n.cfg.Peers.Advertise), Suffrage: raft.Voter}}}
	sink, err := n.snaps.Create(raft.SnapshotVersionMax, index, term, alone, index, nil)
	if err != nil {
		return err
	}
	k, ok := sink.(*snapshot.Sink)
	if !ok {
		return errors.Join(errForeignSink, sink.Cancel())
	}
	if err := k.KeepLocal(index); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return n.logs.FitToSnapshot(index, term)
}

// claimDir makes a directory, or takes one that is empty, and notes that it is unfinished.
func claimDir(dir string) error {
	disk := vfs.OS{}
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "lost+found" })
	if len(entries) > 0 {
		return fmt.Errorf("raftstore: the directory %s is not empty (it has %s): nothing was changed; give one that "+
			"is empty, or is not there", dir, entries[0].Name())
	}
	began := time.Now().UTC().Format(time.RFC3339)
	return smallfile.Replace(filepath.Join(dir, unfinishedName), []byte("begun "+began+"\n"))
}

// finishDir ends what claimDir began.
func finishDir(dir string) error {
	if err := (vfs.OS{}).SyncDir(dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, unfinishedName)); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(dir)
}

// checkFinished refuses a directory that a restore or a recovery has not finished.
func checkFinished(dir string) error {
	path := filepath.Join(dir, unfinishedName)
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return fmt.Errorf("raftstore: %s says that a restore or a recovery into this directory did not finish: empty the "+
		"directory, and run that command again", path)
}
