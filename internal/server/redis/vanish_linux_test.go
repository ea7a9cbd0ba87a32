package redis

import (
	"io"
	"net"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/hangup"
	"github.com/turnlog/turnlog/turn"
)

// A client whose machine is gone, and that ends nothing, is noticed although a request
// of it blocks, and although there is something to be sent to it.
func TestClientThatVanishes(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits()), DeadPeerTimeout: 3 * time.Second})
	other := dial(t, s.addr())
	blocked, listener := dial(t, s.addr()), dial(t, s.addr())
	listener.do("SUBSCRIBE", "news")
	io.WriteString(blocked.nc, "BLPOP l 0\r\nSET foo 1\r\n")
	other.awaitBlocked(1)
	vanish(t, blocked.nc)
	vanish(t, listener.nc)
	other.expect("1", "PUBLISH", "news", "x")
	eventually(t, "both are noticed", func() bool { return s.Metrics().Connections == 1 })
	other.expect("1", "RPUSH", "l", "stays")
	other.expect(`["stays"]`, "LRANGE", "l", "0", "-1")
	other.expect("0", "EXISTS", "foo")
}

// vanish lets a socket receive nothing any more, so that it acknowledges nothing.
func vanish(t *testing.T, nc net.Conn) {
	t.Helper()
	drop := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
	program := unix.SockFprog{Len: 1, Filter: (*unix.SockFilter)(unsafe.Pointer(&drop))}
	err := hangup.Raw(nc).Control(func(fd uintptr) {
		if err := unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
			t.Error(err)
		}
	})
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
}
