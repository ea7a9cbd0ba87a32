//go:build !linux

package wire

import "time"

// boundUnanswered leaves the bound to the system.
func boundUnanswered(uintptr, time.Duration) {}

// unanswered cannot be told.
func unanswered(uintptr) bool { return false }
