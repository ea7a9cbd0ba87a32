//go:build unix

package descriptors

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Limit raises the process's limit of open files as far as it may without
// privileges, and returns it.
func Limit() (int, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	if l.Cur < l.Max {
		raised := unix.Rlimit{Cur: l.Max, Max: l.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	return int(min(uint64(l.Cur), math.MaxInt32)), nil
}
