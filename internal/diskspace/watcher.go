package diskspace

import (
	"context"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Config configures a Watcher.
type Config struct {
	Node    string // its id
	Dir     string // the node's data directory
	Reserve uint64 // bytes
	Every   time.Duration
	// Forget is how long a leader's decision holds that is not repeated.
	Forget time.Duration
	// Wait bounds how long a leader tries to hand over, or to have cluster time go on.
	Wait time.Duration
	// FreeBytes returns the free space of a directory's disk, FreeFiles how many more files it can
	// hold if that has a bound: see the functions of these names.
	FreeBytes func(dir string) (uint64, error)
	FreeFiles func(dir string) (n uint64, bounded bool, err error)

	State   State
	Cluster Cluster
	// LogFull reports whether, with so many bytes free, the log has room for a few more entries only.
	LogFull func(free uint64) bool
	// Changed is called when writes are rejected, or admitted, from now on.
	Changed func()
	Logger  *slog.Logger
}

// State is the node's state machine.
type State interface {
	// Unflushed returns how many bytes the next flush takes, as an estimate.
	Unflushed() uint64
	// ShortOfSpace tells whether the disk has less than the reserve, and how many bytes are left.
	ShortOfSpace(short bool, left uint64)
}

// Watcher watches this node's disk and, while the node leads, those of the other voters.
type Watcher struct {
	*Space
	cfg    Config
	voters voterSpace
}

// NewWatcher returns a Watcher, which does nothing until Run runs.
func NewWatcher(cfg Config) *Watcher {
	w := &Watcher{Space: newSpace(), cfg: cfg}
	w.voters = voterSpace{Space: w.Space, cfg: &w.cfg}
	return w
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		w.Check()
		before := w.Refusal()
		if w.cfg.Cluster.Leads() {
			w.voters.decide(ctx)
		} else {
			w.exhausted.Store(false)
			w.forget(w.cfg.Forget)
		}
		if after := w.Refusal(); (before != nil) != (after != nil) {
			w.cfg.Logger.Warn("disk space", "free", w.free.Load(), "reserve", w.cfg.Reserve,
				"writes_rejected", after != nil)
			w.cfg.Changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reserveFiles is how many inodes are kept in reserve.
const reserveFiles = 256

// Check looks at this node's disk. It is short of space below the reserve, and
// no longer from half as much above it, so that a disk at the edge does not flap.
// Changes that are yet to be flushed are space that is taken already.
func (w *Watcher) Check() {
	c := &w.cfg
	free, err := c.FreeBytes(c.Dir)
	if err != nil {
		c.Logger.Warn("cannot determine the free disk space", "dir", c.Dir, "error", err)
		return
	}
	files, bounded, err := c.FreeFiles(c.Dir)
	if err != nil {
		c.Logger.Warn("cannot determine the free inodes", "dir", c.Dir, "error", err)
		return
	}
	w.free.Store(free)
	w.logFull.Store(c.LogFull(free))
	left := free - min(free, c.State.Unflushed())
	reserve, inodes := c.Reserve, uint64(reserveFiles)
	if w.short.Load() != nil {
		reserve, inodes = reserve+reserve/2, inodes+inodes/2
	}
	switch {
	case left < reserve:
		w.short.Store(turn.Errorf(turn.ReadOnly,
			"%d MiB of disk space are left on node %s, %d MiB are kept in reserve: %s",
			left>>20, c.Node, c.Reserve>>20, Advice))
	case bounded && files < inodes:
		w.short.Store(turn.Errorf(turn.ReadOnly,
			"%d inodes are left on the disk of node %s, %d are kept in reserve: %s",
			files, c.Node, reserveFiles, Advice))
	default:
		w.short.Store(nil)
	}
	c.State.ShortOfSpace(w.short.Load() != nil, left)
}

// Advice says what to do about a full disk.
const Advice = "delete or trim sessions, or free some space; that and reads work meanwhile"
