package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
)

// Partial is what the name of a file ends in that is not complete.
const Partial = ".partial"

// WriteFile has write fill a file for its owner only, which gets its name when it is complete and on disk. A file
// of that name is replaced then. Where there is no such file after a crash, there is at most one whose name ends in
// ".partial". Of two processes that write the same file at the same time, one fails.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	temp := path + Partial
	f, err := createPartial(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return notSynced(path, vfs.OS{}.SyncDir(filepath.Dir(path)))
}

// ErrNotSynced is in the error of a write after which the file is there, complete and under its name; a loss of power
// can still take it away.
var ErrNotSynced = errors.New("is complete, but its folder could not be synced")

func notSynced(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %w: %w", path, ErrNotSynced, err)
}

// createPartial makes an empty, locked file in the place of one that a crash left. What is there under the name
// is never written to: it may be a link, or another process's.
func createPartial(temp string) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			if err := removeLeft(temp); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if lock(f) == nil && names(temp, f) {
			return f, nil
		}
		f.Close() // another process has removed it meanwhile, and made its own
	}
	return nil, fmt.Errorf("another backup is being written to %s", temp)
}

// removeLeft removes what a crash left, unless a process still writes to it.
func removeLeft(temp string) error {
	f, err := os.OpenFile(temp, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return fmt.Errorf("another backup is being written to %s: %w", temp, err)
	}
	if !names(temp, f) {
		return nil
	}
	return os.Remove(temp)
}

func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// names reports whether a path is that of an open file.
func names(path string, f *os.File) bool {
	at, err := os.Lstat(path)
	info, ferr := f.Stat()
	return err == nil && ferr == nil && os.SameFile(at, info)
}

// VerifyFile verifies a backup in a file.
func VerifyFile(path string) (Description, Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return Description{}, Summary{}, err
	}
	defer f.Close()
	return Verify(f)
}
