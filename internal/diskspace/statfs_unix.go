//go:build unix

package diskspace

import "golang.org/x/sys/unix"

// FreeBytes returns what an ordinary user can still write on the disk of dir.
func FreeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

// FreeFiles returns how many more files the disk of dir can hold, if it has a bound.
func FreeFiles(dir string) (n uint64, bounded bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false, err
	}
	return uint64(s.Ffree), s.Files > 0, nil
}
