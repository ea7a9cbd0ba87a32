package turnlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/diskspace"
)

const (
	// shared is a file system in memory, where the system has one.
	shared = "/dev/shm"
	// sharedLeast is the free space that makes it of use: more than a node keeps free.
	sharedLeast = 512 << 20
	// memoryPrefix begins the names of OpenMemory's directories; the process's id follows.
	memoryPrefix = "turnlog-memory-"
)

// OpenMemory runs a node whose data is gone after Close, for unit tests. It is the node that Open runs,
// with the same answers, errors and limits, so what a test sees holds in production. Its files are in a
// directory of its own, on a file system in memory if there is one (/dev/shm on Linux), otherwise in
// os.TempDir(). Close removes the directory; if the process was killed, the next OpenMemory of the same
// user removes it.
func OpenMemory() (*DB, error) {
	parent := memoryParent()
	removeAbandoned(parent)
	dir, lock, err := makeLocked(parent)
	if err != nil {
		return nil, fmt.Errorf("turnlog: open in memory: %w", err)
	}
	remove := func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }
	db, err := Open(filepath.Join(dir, "data"))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	db.close = sync.OnceValue(func() error { return errors.Join(db.closeOnce(), remove()) })
	return db, nil
}

// memoryParent returns where the directories of OpenMemory are.
func memoryParent() string {
	if free, err := diskspace.FreeBytes(shared); err == nil && free >= sharedLeast &&
		unix.Access(shared, unix.W_OK) == nil {
		return shared
	}
	return os.TempDir()
}

// makeLocked makes a directory that is locked for as long as this process lives.
func makeLocked(parent string) (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(parent, fmt.Sprintf("%s%d-*", memoryPrefix, os.Getpid())); err != nil {
		return "", nil, err
	}
	if lock, err = lockDir(dir); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// lockDir locks a directory until the file is closed, if no other process has locked it.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: dir, Err: err}, f.Close())
	}
	return f, nil
}

// removeAbandoned removes the directories of processes that were killed. One that was made this
// moment, and is not locked yet, has no data in it and stays.
func removeAbandoned(parent string) {
	abandoned, _ := filepath.Glob(filepath.Join(parent, memoryPrefix+"*")) // the pattern is well-formed
	for _, dir := range abandoned {
		if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
			continue
		}
		if lock, err := lockDir(dir); err == nil {
			_ = os.RemoveAll(dir) // another user's cannot be removed
			_ = lock.Close()
		}
	}
}
