package wire

import (
	"net"
	"time"

	"github.com/turnlog/turnlog/internal/hangup"
)

// KeepAlive ends a connection whose peer has answered nothing for a time, neither
// probes nor data.
func KeepAlive(nc net.Conn, timeout time.Duration) {
	if tcp, ok := socket(nc).(*net.TCPConn); ok {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: timeout / 2, Interval: timeout / 6, Count: 3})
		if raw := hangup.Raw(tcp); raw != nil {
			raw.Control(func(fd uintptr) { boundUnanswered(fd, timeout) })
		}
	}
}
