package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"net"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// Config says how a Client reaches its cluster. Only Addrs is required.
type Config struct {
	// Addrs are RESP addresses of nodes, HOST:PORT. The first that works is
	// used; when it fails, the next. Give those of several nodes: with one address,
	// nothing is served while that node is down.
	Addrs []string
	// Namespace that all sessions of the Client are in; default "0".
	Namespace string

	// Username and Password authenticate each connection, if Password is set. A
	// Password alone is that of the user default; a Username alone is an error.
	Username, Password string
	// TLS, if set, encrypts each connection. ServerName defaults to the host of
	// the node's address.
	TLS *tls.Config

	// FollowLeader sends requests to the leader, which saves a hop, and finds
	// it again after a change. The other nodes' addresses are learned on the way.
	FollowLeader bool

	// RetryFor bounds how long a failing request is tried again, counted from
	// its start; default 15 s, negative: no second attempt. A context that ends
	// earlier wins. It must exceed an election (about 2.5 s) to hide one.
	RetryFor time.Duration
	// StallTimeout is how long a connection may owe answers without sending a byte
	// until it is given up; default 8 s, which is a little more than a node takes
	// at most to answer.
	StallTimeout time.Duration
	// DialTimeout bounds connecting and the handshake; default 2 s.
	DialTimeout time.Duration

	// Conns bounds the shared connections to one node; default 4. More than one
	// is opened only under load. Tails and Erase use connections of their own.
	Conns int
	// MaxInFlightBytes bounds the requests that are queued or unanswered,
	// together; default 64 MiB. Calls beyond it wait.
	MaxInFlightBytes int64

	// Dial opens connections; default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// OnRetry, if set, hears of each attempt that failed and that another one follows: why it failed, and
	// how long the operation has been tried, or a tail has been without an answer. Operations wait for
	// it, and several may call it at the same time.
	OnRetry func(err error, elapsed time.Duration)
	// NewID makes message ids; default: 128 random bits in hexadecimal. Two calls
	// must never return the same id.
	NewID func() string
}

// withDefaults returns c completed, or the first thing that is wrong with it.
func (c Config) withDefaults() (Config, error) {
	if len(c.Addrs) == 0 {
		return c, turn.Errorf(turn.Invalid, "client: no address given")
	}
	for _, a := range c.Addrs {
		if _, _, err := net.SplitHostPort(a); err != nil {
			return c, turn.Errorf(turn.Invalid, "client: address %q is not HOST:PORT", a)
		}
	}
	if c.Username != "" && c.Password == "" {
		return c, turn.Errorf(turn.Invalid,
			"client: user %q has no password: requests would be sent without authentication", c.Username)
	}
	if c.Namespace == "" {
		c.Namespace = turn.DefaultNamespace
	}
	if err := (&turn.Count{Namespace: c.Namespace}).Validate(turn.DefaultLimits()); err != nil {
		return c, err
	}
	orDuration(&c.RetryFor, 15*time.Second)
	orDuration(&c.StallTimeout, 8*time.Second)
	orDuration(&c.DialTimeout, 2*time.Second)
	if c.Conns <= 0 {
		c.Conns = 4
	}
	if c.MaxInFlightBytes <= 0 {
		c.MaxInFlightBytes = 64 << 20
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	return c, nil
}

func orDuration(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
