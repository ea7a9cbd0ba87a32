//go:build !linux

package redis

import "time"

// boundUnanswered leaves the bound to the system.
func boundUnanswered(uintptr, time.Duration) {}
