package peer

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Kind names a request. Its meaning is the caller's; the bit Ordered decides
// how it is handled.
type Kind byte

// Ordered in a Kind asks for Config.Ordered instead of Config.Serve.
const Ordered Kind = 0x80

// Request is a request that a peer sent.
type Request struct {
	From    Facts // of the asking node, as of its handshake
	Session uint64
	Kind    Kind
	Payload []byte // the handler's to keep
}

// TLS makes every connection a TLS connection. Client returns how to dial the node
// at a host, which its certificate must name; Server is how to accept, and must ask
// for a certificate. Verify returns an error unless a certificate, whose signature has
// been verified, is that of the node.
type TLS struct {
	Client func(host string) *tls.Config
	Server *tls.Config
	Verify func(cert *x509.Certificate, nodeID string) error
}

// Config configures a Network. Listener and Self are required; a zero in any
// other field means its default.
type Config struct {
	// Listener is closed by Run.
	Listener net.Listener
	// Advertise is the address that others dial; default: the listener's.
	Advertise string
	// Self returns this node's facts as of now.
	Self func() Facts
	// Admit decides on every handshake, on either side; nil admits. An error
	// that is a *Refusal is told to the other side as it is.
	Admit func(Meeting) error
	// Refused is told that the other side turned this node down. It must not block.
	Refused func(Meeting, *Refusal)
	// Say returns what the dialing side says in addition once it admits the other one: at
	// most 1024 bytes, and nil for nothing. It must not block.
	Say func(Meeting) []byte
	// Begin is called on the accepting side when the handshake of a stream is over, before
	// the stream is used. It may block until ctx ends. An error closes the stream.
	Begin func(ctx context.Context, m Meeting) error
	// Connected is told that the RPC connection to a peer is open. It must not block.
	Connected func(id string)

	// Serve handles a request; its context ends with the connection or when the
	// asker gives up. Calls run concurrently.
	Serve func(context.Context, Request) ([]byte, error)
	// Ordered handles requests of a Kind with the bit Ordered, in the order of
	// their sending, and must not block. It calls reply exactly once, at any
	// time and from any goroutine. Request.Session tells connections apart.
	Ordered func(r Request, reply func([]byte, error))

	// Transfer handles a connection that another node opened by Network.Transfer. The
	// connection is closed when it returns, and when ctx ends.
	Transfer func(ctx context.Context, c net.Conn, from Facts)

	// Dial opens a connection; default: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	TLS  *TLS
	// Secret, if set, is proved by both sides of each connection.
	Secret *Secret
	// Closed, if not empty, is why connections of other nodes are not accepted: each is
	// closed at once.
	Closed string

	Bounds Bounds
	Timing Timing

	Logger *slog.Logger // nil: discard
}

// Bounds are what a Network holds at most. Frame, InFlight, Calls and Handlers are per RPC
// connection, on the asking side as well as on the answering one: beyond them a request fails
// with ErrOverloaded at once.
type Bounds struct {
	Frame    int // payload bytes of a frame; 96 MiB
	InFlight int // payload bytes of requests without an answer; 128 MiB
	Calls    int // requests without an answer; 16,384
	Handlers int // running Serve calls; 256
	// Waiting bounds the bytes that wait to be written to one connection;
	// beyond it the connection is closed. 256 MiB.
	Waiting int
	// Greetings bounds the accepted connections that are in their handshake: 256. For a
	// further one the oldest is closed.
	Greetings int
	// Conns bounds the accepted connections beyond Greetings: 512. A further one is closed
	// at once.
	Conns int
}

// Timing is how long a Network waits.
type Timing struct {
	Dial      time.Duration // 1 s
	Handshake time.Duration // 2 s for all of it, that of TLS included
	Ping      time.Duration // 500 ms: how often an RPC connection is probed
	Idle      time.Duration // 3 s without a sign of life close an RPC connection
	Stall     time.Duration // 10 s: how long the rest of a message may pause on an accepted stream
	RetryMin  time.Duration // 20 ms: longest first pause between dials of a peer
	RetryMax  time.Duration // 500 ms: longest pause; each is random, and at least half as long
}

var errNoHandler = errors.New("this node does not serve such requests")

func (c *Config) setDefaults() {
	c.Bounds.setDefaults()
	c.Timing.setDefaults()
	c.Advertise = cmp.Or(c.Advertise, c.Listener.Addr().String())
	if c.Admit == nil {
		c.Admit = func(Meeting) error { return nil }
	}
	if c.Refused == nil {
		c.Refused = func(Meeting, *Refusal) {}
	}
	if c.Say == nil {
		c.Say = func(Meeting) []byte { return nil }
	}
	if c.Begin == nil {
		c.Begin = func(context.Context, Meeting) error { return nil }
	}
	if c.Connected == nil {
		c.Connected = func(string) {}
	}
	if c.Serve == nil {
		c.Serve = func(context.Context, Request) ([]byte, error) { return nil, errNoHandler }
	}
	if c.Ordered == nil {
		c.Ordered = func(_ Request, reply func([]byte, error)) { reply(nil, errNoHandler) }
	}
	if c.Transfer == nil {
		c.Transfer = func(context.Context, net.Conn, Facts) {}
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (b *Bounds) setDefaults() {
	b.Frame = cmp.Or(b.Frame, 96<<20)
	b.InFlight = cmp.Or(b.InFlight, 128<<20)
	b.Calls = cmp.Or(b.Calls, 16384)
	b.Handlers = cmp.Or(b.Handlers, 256)
	b.Waiting = cmp.Or(b.Waiting, 256<<20)
	b.Greetings = cmp.Or(b.Greetings, 256)
	b.Conns = cmp.Or(b.Conns, 512)
}

func (t *Timing) setDefaults() {
	t.Dial = cmp.Or(t.Dial, time.Second)
	t.Handshake = cmp.Or(t.Handshake, 2*time.Second)
	t.Ping = cmp.Or(t.Ping, 500*time.Millisecond)
	t.Idle = cmp.Or(t.Idle, 3*time.Second)
	t.Stall = cmp.Or(t.Stall, 10*time.Second)
	t.RetryMin = cmp.Or(t.RetryMin, 20*time.Millisecond)
	t.RetryMax = cmp.Or(t.RetryMax, 500*time.Millisecond)
}
