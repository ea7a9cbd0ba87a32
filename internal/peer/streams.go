package peer

import (
	"context"
	"net"
	"time"
)

// Streams is the layer of raw connections: a net.Listener of the streams that
// peers opened, and the way to open one.
type Streams struct {
	net      *Network
	accepted chan net.Conn
}

// Accept waits for the next stream. Its handshake is over.
func (s *Streams) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.net.done:
		return nil, net.ErrClosed
	}
}

// Close does nothing: streams end with their Network.
func (s *Streams) Close() error { return nil }

// Addr returns the address that the node advertises.
func (s *Streams) Addr() net.Addr { return address(s.net.cfg.Advertise) }

// Dial opens a stream to the node at addr, which must be the peer of that address, if
// there is one.
func (s *Streams) Dial(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, _, err := s.net.open(ctx, Stream, addr, s.net.peerAt(addr))
	return c, err
}

// begin hands a stream over when Config.Begin lets it.
func (n *Network) begin(ctx context.Context, c net.Conn, m Meeting) {
	if err := n.cfg.Begin(ctx, m); err != nil {
		n.logRefusal("node", m.Remote.NodeID, "reason", err)
		_ = c.Close()
		return
	}
	n.streams.hand(c)
}

// hand waits until the stream is accepted, or never will be.
func (s *Streams) hand(c net.Conn) {
	select {
	case s.accepted <- c:
	case <-s.net.done:
		_ = c.Close()
	}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
