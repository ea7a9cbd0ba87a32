package blockfile

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

// beginWriting is a hint; Sync reports what goes wrong.
func beginWriting(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}
