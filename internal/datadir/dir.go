package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/clustertime"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/snapshot"
	"github.com/turnlog/turnlog/internal/staterepair"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vote"
	"github.com/turnlog/turnlog/wal"
)

// Config says what a Dir opens. Path, NodeID, Failure and Logger are required; a zero in any other field means its
// default.
type Config struct {
	Path   string // made if it is not there
	NodeID string // 1–64 bytes

	Engine       string // of the log: "wal", the default, or "boltdb"
	SegmentBytes int64  // of engine wal: 64 MiB
	LogCache     int64  // bytes of recent log kept in memory by engine wal: 16 MiB
	// Grow is asked before the log of engine wal takes so many more bytes of the disk: see wal.Options. Nil: it may.
	Grow         func(bytes int64) bool
	SnapshotRate int64  // bytes a second that a snapshot is sent with: 128 MiB; negative: no bound
	Disk         wal.FS // for tests: the disk under engine "wal", term and vote
	// Wrap, if set, is for tests: it returns what is between the Dir and its log.
	Wrap func(raftlog.Engine) raftlog.Engine

	State     fsm.Config                                                      // Dir and Logger are set by Open
	OpenState func(state fsm.Config, alone func() bool) (*fsm.Machine, error) // staterepair's
	Clock     clustertime.Clock                                               // the system's
	// Closed, if not empty, is why the node has nothing to do with other nodes: the directory of one of
	// several is refused.
	Closed string

	Raft    Raft // nil: it is not to run
	Failure *Failure
	Logger  *slog.Logger
}

// Valid returns why a node cannot be named, or have its data, so; nil if it can.
func Valid(nodeID, path, engine string) error {
	switch {
	case nodeID == "" || len(nodeID) > 64:
		return fmt.Errorf("a node id has 1 to 64 bytes, this one has %d", len(nodeID))
	case path == "":
		return errors.New("no data directory given")
	case engine != "" && engine != "wal" && engine != "boltdb":
		return fmt.Errorf("unknown log engine %q; use wal or boltdb", engine)
	}
	return nil
}

func (c *Config) setDefaults() {
	c.Engine = cmp.Or(c.Engine, "wal")
	c.SegmentBytes = cmp.Or(c.SegmentBytes, 64<<20)
	c.LogCache = cmp.Or(c.LogCache, 16<<20)
	c.SnapshotRate = cmp.Or(c.SnapshotRate, 128<<20)
	if c.Clock == nil {
		c.Clock = clustertime.System{}
	}
	if c.OpenState == nil {
		c.OpenState = staterepair.New(staterepair.Config{Dir: c.Path, Fail: c.Failure.Fail, Logger: c.Logger}).Open
	}
	if c.Raft == nil {
		c.Raft = noRaft{}
	}
}

// Dir is an open data directory, which is locked. Its parts may be used by any goroutine.
type Dir struct {
	cfg Config

	Identity  *identity.Identity
	Vote      *vote.Store
	Log       *raftlog.Store
	Mark      *raftlog.HighWater
	State     *fsm.Machine
	Snapshots *snapshot.Store

	keeping keeping
	atStart atStart
	alone   atomic.Uint64 // where the log ended at the start of the only voter; 0: there were others
}

const (
	boltName      = "log.db"
	snapshotsName = "snapshots"
)

// Open opens what is in a directory, which it makes if it is not there. It starts nothing. After an error,
// nothing is open.
func Open(cfg Config) (_ *Dir, err error) {
	if err := Valid(cfg.NodeID, cfg.Path, cfg.Engine); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	d := &Dir{cfg: cfg}
	opened := false
	defer func() {
		if !opened { // be it that Halt ended this goroutine
			_ = d.Close()
		}
	}()
	if err := (vfs.OS{}).MkdirAll(cfg.Path); err != nil {
		return nil, err
	}
	if err := errors.Join(checkNotContradicted(cfg.Path), checkReleased(cfg.Path)); err != nil {
		return nil, err
	}
	disk := d.logDisk()
	if err := disk.MkdirAll(cfg.Path); err != nil {
		return nil, err
	}
	if err := syncEntry(disk, cfg.Path); err != nil {
		return nil, err
	}
	// The term comes first: the directory is locked with it.
	if d.Vote, err = vote.Open(cfg.Path, vote.Config{
		Disk: disk, Halt: cfg.Failure.Halt, Member: func() (bool, error) { return identity.Exists(cfg.Path) },
		Logger: cfg.Logger,
	}); err != nil {
		return nil, beyondRepair(err)
	}
	if d.Identity, err = identity.Open(cfg.Path, cfg.NodeID, Reseed, cfg.Logger); err != nil {
		return nil, err
	}
	if err := d.openLog(); err != nil {
		return nil, err
	}
	if err := d.openState(); err != nil {
		return nil, err
	}
	if err := d.damaged(d.Snapshots.Check()); err != nil { // before anything is read of it
		return nil, err
	}
	opened = true
	return d, nil
}

func (d *Dir) openState() (err error) {
	state := d.cfg.State
	state.Dir, state.Logger = d.cfg.Path, d.cfg.Logger
	if d.State, err = d.cfg.OpenState(state, d.Alone); err != nil {
		return beyondRepair(err)
	}
	if members := len(d.State.Members()); d.cfg.Closed != "" && members > 1 {
		return fmt.Errorf("this node is one of %d, and %s", members, d.cfg.Closed)
	}
	d.Snapshots, err = snapshot.Open(d.snapshotsPath(), snapshot.Config{
		State: d.State, Rate: d.cfg.SnapshotRate, Clock: d.cfg.Clock, Advice: Reseed, Logger: d.cfg.Logger,
	})
	return err
}

// syncEntry makes the directory's entry in its parent durable although it exists: what was
// copied there or unpacked is often not synced, and with the entry a power cut would take all that
// the node writes. A parent that this process may not read is left alone: systemd makes such a one,
// and syncs it. So is one whose file system cannot sync directories, or is read-only, as that below a volume.
func syncEntry(disk vfs.FS, dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = disk.SyncDir(filepath.Dir(dir))
	}
	if err == nil || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return fmt.Errorf("sync the entry of the data directory %s in its parent: %w; nothing was started",
		dir, err)
}

// Close closes what is open, and unlocks the directory.
func (d *Dir) Close() error {
	var open []io.Closer
	if d.State != nil {
		open = append(open, d.State)
	}
	if d.Log != nil {
		open = append(open, d.Log)
	}
	if d.Mark != nil {
		open = append(open, d.Mark)
	}
	if d.Vote != nil {
		open = append(open, d.Vote)
	}
	var errs []error
	for _, c := range open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// End returns where the log ends, as far as it is durable.
func (d *Dir) End() raftlog.Position {
	end, snap := d.Mark.Position(), d.Snapshots.Position()
	if end.Before(snap) {
		return snap
	}
	return end
}

// Applied returns the index of the last entry that was applied to the state.
func (d *Dir) Applied() uint64 {
	index, _ := d.State.Applied()
	return index
}

// Recorded returns the incarnation by which the state knows a member; empty: it does not.
func (d *Dir) Recorded(id string) string {
	for _, m := range d.State.Members() {
		if m.ID == id {
			return m.Incarnation
		}
	}
	return ""
}

// OpenFiles returns how many files are open whose number grows with what is stored: block files, and segments of
// the log.
func (d *Dir) OpenFiles() int { return d.State.OpenFiles() + d.Log.OpenFiles() }
