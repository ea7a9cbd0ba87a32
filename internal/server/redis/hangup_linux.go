package redis

import (
	"time"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the peer of a socket has ended the connection, or its side of
// it, whatever input is unread before that.
func hungUp(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// boundUnanswered bounds how long data that was sent may stay unacknowledged. Without
// it the kernel sends it again for a quarter of an hour, and no probes meanwhile.
func boundUnanswered(fd uintptr, timeout time.Duration) {
	unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(timeout.Milliseconds()))
}
