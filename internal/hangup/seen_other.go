//go:build !linux

package hangup

// Seen cannot tell on this system: an end is noticed when the input before it was read.
func Seen(uintptr) bool { return false }
