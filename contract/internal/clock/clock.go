//go:build linux || darwin

// Package clock has the clock by which the calls of several processes are put in order: one that never goes back, and
// that all processes of the machine share.
package clock

import "golang.org/x/sys/unix"

// Now is nanoseconds of a clock that never goes back and that all processes of
// this machine share.
func Now() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail with this clock
	return t.Nano()
}
