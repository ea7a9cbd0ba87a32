package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// OS is the operating system's file system. Files are readable by their owner only. While the
// process has no file descriptor left, an opening waits for one as descriptors.Open does.
type OS struct {
	// EarlyWriteback has the kernel begin to write back what WriteAt was given at once, so
	// that a Sync that follows much writing does not hold up those of other files.
	EarlyWriteback bool
	// OpenReadOnly has Open open files for reading only, which needs no right to write.
	OpenReadOnly bool
}

var _ FS = OS{}

// zeroChunk is how much of a new file is written and synced at a time. Small, so that the sync of
// another file never queues behind all of its zeros.
const zeroChunk = 1 << 20

// MkdirAll creates dir and its parents and syncs the parent of each folder that it created.
func (o OS) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := o.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return o.SyncDir(parent)
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	f, err := open(dir, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Create implements FS.
func (o OS) Create(name string) (File, error) {
	return o.file(open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC))
}

// Open implements FS.
func (o OS) Open(name string) (File, error) {
	flag := os.O_RDWR
	if o.OpenReadOnly {
		flag = os.O_RDONLY
	}
	return o.file(open(name, flag))
}

// Rename implements FS.
func (OS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	f, err := open(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock takes an flock, which the kernel releases when the process dies.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

func (o OS) file(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f, o}, nil
}

func open(name string, flag int) (*os.File, error) {
	return descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, flag, 0o600) })
}

type osFile struct {
	*os.File
	os OS
}

func (f osFile) WriteAt(b []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(b, offset)
	if err == nil && f.os.EarlyWriteback {
		beginWriteback(f.File, offset, int64(n))
	}
	return n, err
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return datasync(f.File) }

// Allocate reserves the blocks first, so that a full disk is noticed before anything is written,
// and then writes zeros over them: a block that is only reserved is marked as unwritten, and
// turning it into a written one costs a journal commit at the time of the write.
func (f osFile) Allocate(size int64) error {
	at, err := f.Size()
	if err != nil || at >= size {
		return err
	}
	if err := f.fill(at, size); err != nil {
		return errors.Join(err, f.Truncate(at))
	}
	return nil
}

func (f osFile) fill(at, size int64) error {
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
