//go:build unix

package descriptors

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Present returns how many files the process may have open, and leaves that as it is.
func Present() (int, error) {
	l, err := limits()
	return int(min(uint64(l.Cur), math.MaxInt32)), err
}

func limits() (l unix.Rlimit, err error) {
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return l, fmt.Errorf("read the limit of open files: %w", err)
	}
	return l, nil
}

// Limit raises the process's limit of open files as far as it may without
// privileges, and returns it.
func Limit() (int, error) {
	l, err := limits()
	if err != nil {
		return 0, err
	}
	if l.Cur < l.Max {
		raised := unix.Rlimit{Cur: l.Max, Max: l.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	return int(min(uint64(l.Cur), math.MaxInt32)), nil
}
