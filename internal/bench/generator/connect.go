package generator

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/turnlog/turnlog/internal/bench/target"
)

// Run connects clients and drives them until all are idle.
func Run(ctx context.Context, t *target.Target, d target.Dialect, goroutines bool,
	clients []*Client) error {
	conns := make([]net.Conn, 0, len(clients))
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range clients {
		conn, err := connect(ctx, t, d, t.Addrs[i%len(t.Addrs)])
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		conns = append(conns, conn)
	}
	if goroutines || t.TLS {
		return driveGoroutines(ctx, clients, conns)
	}
	return drive(ctx, clients, conns)
}

// connect opens a connection and says hello on it.
func connect(ctx context.Context, t *target.Target, d target.Dialect, addr string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	dial := dialer.DialContext
	if t.TLS {
		dial = (&tls.Dialer{NetDialer: dialer}).DialContext
	}
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	hello, owed := d.Hello(nil)
	if owed == 0 {
		return conn, nil
	}
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write(hello); err != nil {
		conn.Close()
		return nil, err
	}
	var in, buf []byte = nil, make([]byte, 4096)
	for owed > 0 {
		n, err := conn.Read(buf)
		if in = append(in, buf[:n]...); err != nil {
			conn.Close()
			return nil, err
		}
		for owed > 0 {
			n, err := d.Answer(in)
			if err != nil {
				conn.Close()
				return nil, err
			}
			if n == 0 {
				break
			}
			in, owed = in[n:], owed-1
		}
	}
	return conn, conn.SetDeadline(time.Time{})
}
