//go:build !linux

package generator

import (
	"context"
	"net"
)

// drive runs the clients over their connections until all are idle, or ctx ends.
// A client whose connection fails is idle from then on; the error is recorded.
func drive(ctx context.Context, clients []*Client, conns []net.Conn) error {
	return driveGoroutines(ctx, clients, conns)
}
