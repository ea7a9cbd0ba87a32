//go:build !linux

package bench

import (
	"context"
	"net"
)

// drive runs the clients over their connections until all are idle, or ctx ends.
// A client whose connection fails is idle from then on; the error is recorded.
func drive(ctx context.Context, clients []*client, conns []net.Conn) error {
	return driveGoroutines(ctx, clients, conns)
}
