package redis

import (
	"container/list"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/internal/server/redis/inflight"
	"github.com/turnlog/turnlog/internal/server/redis/replies"
	"github.com/turnlog/turnlog/internal/server/redis/requestmemory"
	"github.com/turnlog/turnlog/turn"
)

// conn is one client's connection. Its fields belong to the goroutine in serve,
// but for info, and for what wire and order say of theirs.
type conn struct {
	srv     *Server
	id      uint64
	started time.Time
	wire    wire
	in      *resp.RequestReader
	memory  *requestmemory.Account
	kept    kept
	replies *replies.Queue

	who       identity
	namespace string
	proto     int  // version of the protocol, as of the last request
	quiet     bool // CLIENT REPLY OFF
	skip      int  // replies to suppress, CLIENT REPLY SKIP
	tx        transactions
	subs      subscriptions
	tails     map[turn.Key]*pushTail

	order    inflight.Order
	pacing   pacing
	pipeline pipeline

	// gone ends when what blocks must end: because the client has left, which is
	// its cause then, or because the connection is told to stop.
	gone     context.Context
	hangUp   context.CancelCauseFunc
	block    block
	blocking <-chan struct{} // closed when the request that blocks the connection has ended; nil: none does

	// stranger is the connection's place among the strangers, nil if it is none or has
	// had to give way. It is guarded by strangers.mu.
	stranger *list.Element
	gaveWay  bool
	known    bool // its descriptor is noted as a user's

	info publicInfo
}

// publicInfo is what other connections may see and do.
type publicInfo struct {
	mu       sync.Mutex
	stopping bool      // no further input is waited for
	stopBy   time.Time // … from then on at the latest
	ending   bool      // the last request was handled: see vanish
	outlasts bool      // input is waited for while a request blocks: see outlast
	name     string
	libName  string
	libVer   string
	db       int
	proto    int
	command  string
	user     string
	known    *auth.User // as identity.user
	login    auth.Login // as identity.login
	active   time.Time  // when the last request was received
	noEvict  bool
	// channels and patterns are the numbers of subscriptions.
	channels, patterns int
}

// isEnding reports whether the last request was handled.
func (c *conn) isEnding() bool {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	return c.info.ending
}

// show makes a command the last one that CLIENT LIST shows.
func (c *conn) show(name string) {
	c.info.mu.Lock()
	c.info.command = name
	c.info.mu.Unlock()
}

func (c *conn) key(name []byte) turn.Key {
	return turn.Key{Namespace: c.namespace, Name: string(name)}
}

// enter makes ns the connection's namespace. Numbered ones are Redis databases.
func (c *conn) enter(ns string) {
	c.namespace = ns
	db, err := strconv.Atoi(ns)
	if err != nil {
		db = -1
	}
	c.info.mu.Lock()
	c.info.db = db
	c.info.mu.Unlock()
}

// userName is whose the connection is, as others may ask.
func (c *conn) userName() string {
	c.info.mu.Lock()
	defer c.info.mu.Unlock()
	return c.info.user
}

// unread reports whether input was received that has not been read as requests.
func (c *conn) unread() bool { return c.in.Buffered() > 0 || len(c.kept.buf) > 0 }

// vanish takes the connection out of CLIENT LIST: once the client has the answer to its
// last request, the connection is not listed any more, as in Redis.
func (c *conn) vanish() {
	c.info.mu.Lock()
	c.info.ending = true
	c.info.mu.Unlock()
}
