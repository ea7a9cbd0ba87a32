//go:build !linux

package redis

import "time"

// hungUp cannot tell here: that a client has left behind more input than is kept is
// noticed when that is read.
func hungUp(uintptr) bool { return false }

// boundUnanswered leaves the bound to the system.
func boundUnanswered(uintptr, time.Duration) {}
