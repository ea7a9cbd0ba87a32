package datadir

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/wal"
)

// logDisk is where Raft's log is, and term and vote.
func (d *Dir) logDisk() vfs.FS {
	if d.cfg.Disk != nil {
		return d.cfg.Disk
	}
	return vfs.OS{}
}

// EngineOf returns the engine of the log in a data directory.
func EngineOf(path string) string {
	if _, err := os.Stat(filepath.Join(path, boltName)); err == nil {
		return "boltdb"
	}
	return "wal"
}

// checkEngine refuses a directory whose log is kept by another engine than the
// configured one.
func (d *Dir) checkEngine() error {
	dir := d.cfg.Path
	other, name := "boltdb", boltName
	if d.cfg.Engine == "boltdb" {
		other, name = "wal", raftlog.WALName
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return fmt.Errorf("the log in %s is kept by engine %s; set that one", dir, other)
	}
	return nil
}

func (d *Dir) openEngine() (raftlog.Engine, error) {
	if d.cfg.Engine == "boltdb" {
		return raftlog.OpenBolt(filepath.Join(d.cfg.Path, boltName))
	}
	l, err := wal.Open(filepath.Join(d.cfg.Path, raftlog.WALName), wal.Options{
		SegmentBytes: d.cfg.SegmentBytes, CacheBytes: d.cfg.LogCache, FS: d.cfg.Disk, Logger: d.cfg.Logger,
		Grow: d.cfg.Grow,
	})
	if err != nil {
		return nil, err
	}
	return raftlog.OverWAL(l), nil
}

// LogFull reports whether the log has space for a few more entries only, and the
// disk, with so many bytes free, has none for another segment, or none that the log may take.
func (d *Dir) LogFull(free uint64) bool {
	if d.cfg.Engine == "boltdb" {
		return free < 8<<20 // it has nothing in reserve
	}
	return (free < uint64(d.cfg.SegmentBytes) || d.Log.Wanted() > 0) && !d.LogHasRoom()
}

// LogHasRoom reports whether the log has room for what must not fail, as far as the Dir can tell.
func (d *Dir) LogHasRoom() bool {
	return d.cfg.Engine == "boltdb" || d.Log.Room() >= min(1<<20, d.cfg.SegmentBytes/16)
}
