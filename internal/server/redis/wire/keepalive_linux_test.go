package wire

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/hangup"
)

// A peer that answers neither probes nor data is given up after the time that is set.
func TestKeepAlive(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	KeepAlive(nc, 30*time.Second)
	hangup.Raw(nc).Control(func(fd uintptr) {
		for _, option := range []struct {
			name              string
			level, kind, want int
		}{
			{"probes", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"seconds until the first probe", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
			{"seconds between probes", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
			{"probes without an answer", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
			{"milliseconds that data may be unacknowledged", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30000},
		} {
			if got, err := unix.GetsockoptInt(int(fd), option.level, option.kind); got != option.want || err != nil {
				t.Errorf("%s: %d, %v; want %d", option.name, got, err, option.want)
			}
		}
	})
}
