package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync leaves out the file's times, which fsync would have to journal.
func datasync(f *os.File) error {
	for {
		// An interrupted call has not reported on any page: this repeats no failure.
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// beginWriteback is a hint; Sync reports what goes wrong.
func beginWriteback(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}

// reserve takes blocks without changing the size, which Allocate reads to know how far the zeros
// have come.
func reserve(f *os.File, at, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, at, n)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return nil // writing the zeros will tell
		}
		return err
	}
}
