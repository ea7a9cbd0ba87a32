package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/internal/vfs"
)

// Disk is the file system that holds the state. Its store is a file of bbolt, which needs one of
// the operating system and syncs it by itself, so the disk opens that.
type Disk interface {
	vfs.FS
	// OpenDB opens the bbolt file at path.
	OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error)
	// SyncDB makes durable what was written by transactions that did not sync.
	SyncDB(db *bbolt.DB) error
}

// DiskFull reports whether err says that a write, or the creation of a file, found
// no space or no file descriptor. A sync that finds none is not that: what it was to make durable may be
// lost, and no later sync would tell.
func DiskFull(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && failed.Op != "sync" &&
		(errors.Is(failed, syscall.ENOSPC) || errors.Is(failed, syscall.EDQUOT) || descriptors.Missing(failed))
}

// OSDisk is the operating system's file system.
type OSDisk struct{ vfs.OS }

func (OSDisk) OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error) {
	retried := *o
	retried.OpenFile = func(name string, flag int, mode fs.FileMode) (*os.File, error) {
		return descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, flag, mode) })
	}
	return bbolt.Open(path, 0o600, &retried)
}

func (OSDisk) SyncDB(db *bbolt.DB) error { return db.Sync() }
