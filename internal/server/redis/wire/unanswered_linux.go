package wire

import (
	"time"

	"golang.org/x/sys/unix"
)

// boundUnanswered bounds how long data that was sent may stay unacknowledged. Without
// it the kernel sends it again for a quarter of an hour, and no probes meanwhile.
func boundUnanswered(fd uintptr, timeout time.Duration) {
	unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(timeout.Milliseconds()))
}

// unanswered reports whether data that was sent, or the end of it, is unacknowledged.
func unanswered(fd uintptr) bool {
	bytes, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return err == nil && bytes > 0
}
