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
	// Connected is told that the RPC connection to a peer stands. It must not block.
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

	// Bounds. Per RPC connection, on the asking side as well as on the
	// answering one: beyond them a request fails with ErrOverloaded at once.
	MaxFrame    int // payload bytes of a frame; 96 MiB
	MaxInFlight int // payload bytes of requests without an answer; 128 MiB
	MaxCalls    int // requests without an answer; 16,384
	MaxHandlers int // running Serve calls; 256
	// MaxWaiting bounds the bytes that wait to be written to one connection;
	// beyond it the connection is closed. 256 MiB.
	MaxWaiting int

	// MaxGreetings bounds the accepted connections that are in their handshake: 256.
	// For a further one the oldest is closed. MaxConns bounds those beyond it: 512. A
	// further one is closed at once.
	MaxGreetings, MaxConns int

	DialTimeout      time.Duration // 1 s
	HandshakeTimeout time.Duration // 2 s for all of it, that of TLS included
	PingInterval     time.Duration // 500 ms: how often an RPC connection is probed
	IdleTimeout      time.Duration // 3 s without a sign of life close an RPC connection
	RetryMin         time.Duration // 20 ms: longest first pause between dials of a peer
	RetryMax         time.Duration // 500 ms: longest pause; each is random, and at least half as long

	Logger *slog.Logger // nil: discard
}

var errNoHandler = errors.New("this node does not serve such requests")

func (c *Config) setDefaults() {
	c.MaxFrame = cmp.Or(c.MaxFrame, 96<<20)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 128<<20)
	c.MaxCalls = cmp.Or(c.MaxCalls, 16384)
	c.MaxHandlers = cmp.Or(c.MaxHandlers, 256)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 256<<20)
	c.MaxGreetings = cmp.Or(c.MaxGreetings, 256)
	c.MaxConns = cmp.Or(c.MaxConns, 512)
	c.DialTimeout = cmp.Or(c.DialTimeout, time.Second)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 2*time.Second)
	c.PingInterval = cmp.Or(c.PingInterval, 500*time.Millisecond)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 3*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, 20*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, 500*time.Millisecond)
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
