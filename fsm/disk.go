package fsm

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/internal/descriptors"
)

// disk is how the store's file comes about, reaches stable storage and is
// replaced. A test that cuts the power has one of its own.
type disk interface {
	open(path string, o *bbolt.Options) (*bbolt.DB, error)
	// files is the file system of the block files.
	files() blockfile.FS
	// sync makes durable what was written by transactions that did not sync.
	sync(db *bbolt.DB) error
	rename(from, to string) error
	// syncDir makes names durable: files that were created, renamed or removed in dir.
	syncDir(dir string) error
}

// fullDisk reports whether err says that a write, or the creation of a file, found
// no space or no file descriptor. A sync that finds none is not that: what it was to make durable may be
// lost, and no later sync would tell.
func fullDisk(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && failed.Op != "sync" &&
		(errors.Is(failed, syscall.ENOSPC) || descriptors.Missing(failed))
}

type osDisk struct{}

func (osDisk) open(path string, o *bbolt.Options) (*bbolt.DB, error) {
	retried := *o
	retried.OpenFile = func(name string, flag int, mode fs.FileMode) (*os.File, error) {
		return descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, flag, mode) })
	}
	return bbolt.Open(path, 0o600, &retried)
}

func (osDisk) files() blockfile.FS { return blockfile.OS{} }

func (osDisk) sync(db *bbolt.DB) error { return db.Sync() }

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) syncDir(dir string) error { return blockfile.OS{}.SyncDir(dir) }
