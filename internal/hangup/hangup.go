// Package hangup tells whether the peer has closed a connection although input is still unread, and whether there is
// unread input. It asks the kernel, reads nothing and does not wait, so that any goroutine may ask while another one
// reads. On systems that cannot tell, the answer is no.
package hangup

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of reports whether the other side of a connection has ended it, or its direction of it. It is
// false for connections that are no sockets, and on systems that cannot tell. It may be called by
// any goroutine, and waits for nothing.
func Of(c net.Conn) (ended bool) {
	raw := Raw(c)
	if raw == nil {
		return false
	}
	if raw.Control(func(fd uintptr) { ended = Seen(fd) }) != nil {
		return true // closed by this side
	}
	return ended
}

// Raw returns the descriptor of a connection; nil: it has none.
func Raw(c net.Conn) syscall.RawConn {
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// Unread reports whether there is input, as far as can be told; raw is nil
// if it cannot. It may be called by any goroutine, and waits for nothing.
func Unread(raw syscall.RawConn) (more bool) {
	if raw == nil {
		return false
	}
	err := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		more = err == nil && n > 0
	})
	return err == nil && more
}
