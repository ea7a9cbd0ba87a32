package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// Disk is the operating system's file system.
type Disk struct{}

// zeroChunk is how much of a new file is written and synced at a time. Small, so that the sync of an Append never queues behind a whole
// segment's worth of zeros.
const zeroChunk = 1 << 20

// MkdirAll creates dir and its parents and syncs the parent of each folder that it created.
func (d Disk) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return d.SyncDir(parent)
}

// List returns the names in dir.
func (Disk) List(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Create makes an empty file, readable by its owner only.
func (Disk) Create(name string) (File, error) {
	f, err := descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) })
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Open opens an existing file.
func (Disk) Open(name string) (File, error) {
	f, err := descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR, 0) })
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Rename renames a file.
func (Disk) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// Remove unlinks a file.
func (Disk) Remove(name string) error { return os.Remove(name) }

// SyncDir syncs a folder.
func (Disk) SyncDir(dir string) error {
	f, err := descriptors.Open(func() (*os.File, error) { return os.Open(dir) })
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock takes an flock, which the kernel releases when the process dies.
func (Disk) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Sync() error { return datasync(f.File) }

// Allocate reserves the blocks first, so that a full disk is noticed before anything is written, and then writes zeros over them: a block
// that is only reserved is marked as unwritten, and turning it into a written one costs a journal commit at the time of the Append.
func (f diskFile) Allocate(size int64) error {
	at, err := f.Size()
	if err != nil || at >= size {
		return err
	}
	if err := f.fill(at, size); err != nil {
		return errors.Join(err, f.Truncate(at))
	}
	return nil
}

func (f diskFile) fill(at, size int64) error {
	if err := reserve(f.File, at, size-at); err != nil {
		return err
	}
	zeros := make([]byte, min(zeroChunk, size-at))
	for at < size {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
