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

// MaxRetryFor is half of the time for which the cluster knows the id of a transaction. A retry later than that could
// carry it out again.
const MaxRetryFor = 5 * time.Minute

// Config configures a Client. Only Addrs is required.
type Config struct {
	// Addrs are RESP addresses of nodes, HOST:PORT. The client uses the first one that works, and after
	// a failure the next one. Give the addresses of several nodes: with only one, every call fails
	// while that node is down.
	Addrs []string
	// Namespace is the namespace of the Client's sessions; default "0".
	Namespace string

	// Username and Password authenticate each connection, if Password is set. A Password without a
	// Username is that of the user "default"; a Username without a Password is an error.
	Username, Password string
	// TLS, if set, encrypts each connection. ServerName defaults to the host of
	// the node's address.
	TLS *tls.Config

	// FollowLeader sends requests to the leader, which saves a hop, also after the leader has changed.
	// The client learns the addresses of the other nodes from the cluster.
	FollowLeader bool

	// RetryFor bounds how long a failing request is retried, counted from its start; default 15 s,
	// negative: no retries, at most MaxRetryFor. A context that ends earlier takes precedence. To hide
	// an election, RetryFor must exceed about 2.5 s.
	RetryFor time.Duration
	// StallTimeout is how long a node may send nothing, and take nothing of what is sent to it, while
	// answers are outstanding, before the connection is closed; default 8 s, a little more than the
	// longest time that a node takes to answer; negative: none.
	StallTimeout time.Duration
	// DialTimeout bounds connecting and the handshake; default 2 s.
	DialTimeout time.Duration

	// Conns bounds the shared connections to one node; default 4. More than one is opened only under
	// load. Each Tail and each Erase uses a connection of its own.
	Conns int
	// MaxInFlightBytes bounds the bytes of all requests that are queued or unanswered; default 64 MiB.
	// Further calls wait.
	MaxInFlightBytes int64

	// Dial opens connections; default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// OnRetry, if set, is called after each failed attempt that will be retried. err is the error of
	// that attempt; elapsed is the time since the operation began or, for a tail, since the last
	// answer. The operation waits until OnRetry returns. Several goroutines may call it at the same
	// time.
	OnRetry func(err error, elapsed time.Duration)
	// Traceparent, if set, returns which trace a call is part of, as a traceparent of the W3C's Trace Context, or ""
	// if it is part of none. ctx is that of the call. Nodes that send traces make their spans children of the
	// span that it names. It is called once in a call, and not for a Tail.
	Traceparent func(ctx context.Context) string
	// NewID generates ids of messages and transactions; default: 128 random bits in hexadecimal, which also
	// take the place of an empty id. Two calls must never return the same id. Several goroutines may call it,
	// Dial and Traceparent at the same time.
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
	c.RetryFor = min(c.RetryFor, MaxRetryFor)
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
	c.NewID = neverEmpty(c.NewID)
	return c, nil
}

func orDuration(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

// neverEmpty returns newID, if there is one, such that each id tells a retry from something new.
func neverEmpty(newID func() string) func() string {
	if newID == nil {
		return randomID
	}
	return func() string {
		if id := newID(); id != "" {
			return id
		}
		return randomID()
	}
}

func randomID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
