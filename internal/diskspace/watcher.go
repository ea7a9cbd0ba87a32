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
	Log     Log
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

// Log is the node's log.
type Log interface {
	// Unapplied returns how many bytes of entries the state machine has yet to apply.
	Unapplied() uint64
	// Room returns how many bytes the log surely finds allocated.
	Room() uint64
	// Wanted returns how many bytes the log waits for, to prepare its next segment.
	Wanted() uint64
	// SaveSpace says whether the log is to keep no more of the disk than it needs.
	SaveSpace(bool)
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
		case <-time.After(w.pause()):
		}
	}
}

// reserveFiles is how many inodes are kept in reserve.
const reserveFiles = 256

// pause returns how long to wait before the next look: the less is left before writes are rejected, the less may come
// between two looks.
func (w *Watcher) pause() time.Duration {
	if w.Saving() && w.short.Load() == nil {
		return max(w.cfg.Every/10, time.Millisecond)
	}
	return w.cfg.Every
}

// left returns what is left of so many free bytes once what was accepted has reached the state on the disk: what the
// log has and the state machine has not applied, and what that has not flushed.
func (w *Watcher) left(free uint64) uint64 {
	unapplied := w.cfg.Log.Unapplied() // first: what is applied meanwhile counts twice, and not never
	return less(less(free, unapplied), w.cfg.State.Unflushed())
}

func less(a, b uint64) uint64 { return a - min(a, b) }

// Grants reports whether the log may take so many bytes more for a segment, so that the reserve remains.
func (w *Watcher) Grants(bytes int64) bool {
	free, err := w.cfg.FreeBytes(w.cfg.Dir)
	return err != nil || less(w.left(free), uint64(bytes)) >= w.cfg.Reserve
}

// entryBytes is more than what an entry takes in the log besides its operations.
const entryBytes = 32 << 10

// RefusalOf returns why a leader rejects operations of so many bytes that need space, nil if it does not. A leader that
// finds no room in its log for what it proposes ends its term, and the next one would be asked for the same: what is
// larger than the log's room, and than what it may take without the reserve, is not proposed.
func (w *Watcher) RefusalOf(bytes int) *turn.Error {
	if why := w.Refusal(); why != nil {
		return why
	}
	size := uint64(bytes) + entryBytes
	if size <= w.cfg.Log.Room() || w.Grants(int64(max(size, w.cfg.Log.Wanted()))) {
		return nil
	}
	return turn.Errorf(turn.ReadOnly,
		"the log of node %s has no room for %d KiB more beside what is kept in reserve: %s",
		w.cfg.Node, size>>10, Advice)
}

// nearly is with how many reserves left the disk may soon be short of space. From then on it is looked at more often,
// and the log keeps no more than it needs: that comes before writes are rejected.
const nearly = 3

// Check looks at this node's disk. It is short of space below the reserve, and
// no longer from half as much above it, so that a disk at the edge does not flap.
// What is on its way to the disk counts as taken, and so does the log's next segment once it had to wait: without it
// the log has room for one segment more of entries that free space.
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
	room := w.left(free)
	left := less(room, c.Log.Wanted())
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
	w.saving.Store(left < nearly*c.Reserve || w.short.Load() != nil)
	c.Log.SaveSpace(w.Saving())
	c.State.ShortOfSpace(w.short.Load() != nil, room)
}

// Advice says what to do about a full disk.
const Advice = "delete or trim sessions, or free some space; that and reads work meanwhile"
