package redis

import (
	"context"
	"sync/atomic"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/admission"
	"github.com/turnlog/turnlog/internal/server/redis/blocked"
	"github.com/turnlog/turnlog/internal/server/redis/clients"
	"github.com/turnlog/turnlog/internal/server/redis/inflight"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/requestmemory"
	"github.com/turnlog/turnlog/internal/server/redis/transaction"
	"github.com/turnlog/turnlog/internal/server/redis/wire"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// conn is one client's connection. Its fields belong to the goroutine in serve,
// but for client and block, and for what place, wire, order and pipeline say of theirs.
type conn struct {
	srv     *Server
	client  clients.Client // what it shows to others
	wire    *wire.Wire
	in      *resp.RequestReader
	memory  *requestmemory.Account
	place   *admission.Place // nil: it is of this process
	replies *replies.Queue

	who       identity
	namespace string
	proto     int // version of the protocol, as of the last request
	silence   silence
	parent    trace.Context   // of the next request, as TURN.TRACE said; none: it is part of no trace
	asking    context.Context // of what is asked of the engine for the request at hand
	tx        transaction.State
	subs      pubsub.Subscriber
	hears     atomic.Pointer[hearing] // nil: it never subscribed, or there are no users
	tails     tails

	order    inflight.Order
	pacing   inflight.Pacing
	pipeline inflight.Pipeline
	block    *blocked.Request
	charged  *charge // the last one; nil: there was none
	blocking *charge // of the request that blocks, or did
	paying   payer   // for the replies
}

func (c *conn) key(name []byte) turn.Key {
	return turn.Key{Namespace: c.namespace, Name: string(name)}
}

// enter makes ns the connection's namespace.
func (c *conn) enter(ns string) {
	c.namespace = ns
	c.client.SetNamespace(ns)
}

// unread reports whether input was received that has not been read as requests.
func (c *conn) unread() bool { return c.in.Buffered() > 0 || c.wire.Kept() }
