//go:build !linux

package wire

import "time"

// boundUnanswered leaves the bound to the system.
func boundUnanswered(uintptr, time.Duration) {}
