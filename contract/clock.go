//go:build linux || darwin

package contract

import "golang.org/x/sys/unix"

// now is nanoseconds of a clock that never goes back and that all processes of
// this machine share.
func now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano()
}
