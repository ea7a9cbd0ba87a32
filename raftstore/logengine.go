package raftstore

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/raftlog"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/wal"
)

// logDisk is where Raft's log is, and term and vote.
func (n *Node) logDisk() vfs.FS {
	if n.cfg.Log.Disk != nil {
		return n.cfg.Log.Disk
	}
	return vfs.OS{}
}

// checkEngine refuses a directory whose log is kept by another engine than the
// configured one.
func (n *Node) checkEngine(dir string) error {
	other, name := "boltdb", boltName
	if n.cfg.Log.Engine == "boltdb" {
		other, name = "wal", raftlog.WALName
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return fmt.Errorf("raftstore: the log in %s is kept by engine %s; set that one", dir, other)
	}
	return nil
}

func (n *Node) openEngine(dir string) (raftlog.Engine, error) {
	if n.cfg.Log.Engine == "boltdb" {
		return raftlog.OpenBolt(filepath.Join(dir, boltName))
	}
	l, err := wal.Open(filepath.Join(dir, raftlog.WALName), wal.Options{
		SegmentBytes: n.cfg.Storage.SegmentBytes, CacheBytes: n.cfg.Storage.LogCache, FS: n.cfg.Log.Disk, Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	return raftlog.OverWAL(l), nil
}
