package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/hangup"
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
// there is one. What it reads is from a node that runs at that time: see openStream.
func (s *Streams) Dial(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, _, err := s.net.open(ctx, Stream, addr, s.net.peerAt(addr))
	if err != nil {
		return nil, err
	}
	return openStream{c}, nil
}

// openStream is a stream that this node opened. It fails to read what lies before the end of the
// stream: the node that sent it has ended since, and may run again, on an older copy of its data.
// An acknowledgement that it wrote before would then count although nothing that it is about is
// left. Requests and answers alternate, since Raft's transport is set to send without a pipeline
// (MaxRPCsInFlight 1): so a read ends with an answer. With a pipeline one read could bring several
// answers into Raft's buffer, and those behind the first would be taken later, without a look.
type openStream struct{ *tracked }

func (s openStream) Read(b []byte) (int, error) {
	n, err := s.tracked.Read(b)
	if err == nil && hangup.Of(s.raw) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// acceptedStream is a stream that another node opened. It closes if the rest of a message does not come for
// Timing.Stall: Raft's main loop reads the state that a leader sends, without a bound on time, and while it waits, the
// node takes part in nothing. If the leader vanishes without a word, as with its machine or its network, and something
// between the nodes keeps the connection, it would wait for ever.
//
// Only the wait for the sender is timed: what this node does between two reads, as on a slow disk, is not the sender's
// fault. Nor is the pause between an answer and the next message.
type acceptedStream struct {
	*tracked
	begun atomic.Bool // a message, which no answer was written to yet
}

func (s *acceptedStream) Read(b []byte) (int, error) {
	var by time.Time
	if s.begun.Load() {
		by = time.Now().Add(s.net.cfg.Timing.Stall)
	}
	if err := s.tracked.SetReadDeadline(by); err != nil {
		return 0, err
	}
	n, err := s.tracked.Read(b)
	if n > 0 {
		s.begun.Store(true)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.net.log.Warn("closing a connection on which a message does not go on: its sender is taken to be gone", "node",
			s.nodeID(), "addr", s.raw.RemoteAddr(), "silent", s.net.cfg.Timing.Stall)
		err = errors.Join(err, s.Close())
	}
	return n, err
}

func (s *acceptedStream) Write(b []byte) (int, error) {
	s.begun.Store(false)
	return s.tracked.Write(b)
}

// hand waits until the stream is accepted, or never will be.
func (s *Streams) hand(c *tracked) {
	select {
	case s.accepted <- &acceptedStream{tracked: c}:
	case <-s.net.done:
		_ = c.Close()
	}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
