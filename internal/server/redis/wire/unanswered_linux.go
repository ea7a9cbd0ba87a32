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
