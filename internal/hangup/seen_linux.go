package hangup

import "golang.org/x/sys/unix"

// Seen reports whether the other side of a socket has ended the connection, or its direction of it.
func Seen(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}
