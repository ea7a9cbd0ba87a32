package redis

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/auth"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// conn is one client's connection. Its fields belong to the goroutine in serve,
// but for about, and for what wire and order say of theirs.
type conn struct {
	srv     *Server
	id      uint64
	started time.Time
	wire    wire
	in      *resp.RequestReader
	memory  *account
	kept    kept
	replies *replies

	who       identity
	namespace string
	proto     int  // version of the protocol, as of the last request
	quiet     bool // CLIENT REPLY OFF
	skip      int  // replies to suppress, CLIENT REPLY SKIP
	tx        transactions
	subs      subscriptions
	tails     map[turn.Key]*pushTail

	order order
	pace  pace
	burst burst

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

	about about
}

// about is what other connections may see and do.
type about struct {
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

func (s *Server) newConn(nc net.Conn) *conn {
	now := s.cfg.Now()
	c := &conn{srv: s, id: s.nextID.Add(1), namespace: turn.DefaultNamespace, started: now, proto: 2}
	c.wire.srv, c.wire.nc = s, nc
	c.who.all = s.cfg.Users
	c.order.reading = make(chan struct{}, maxReads)
	c.gone, c.hangUp = context.WithCancelCause(s.work)
	c.memory = s.openAccount(nc)
	c.tx.memory = c.memory
	c.in = resp.NewRequestReader(source{c}, resp.Limits{MaxRequest: s.cfg.MaxRequestBytes, Memory: c.memory})
	c.block.changed.L = &c.block.mu
	c.kept.budget, c.kept.max = c.memory, s.cfg.PipelineBytes
	c.replies = newReplies(resp.NewWriter(&c.wire), s.cfg.PipelineRequests, s.cfg.PipelineBytes, &s.pushing)
	c.about.proto, c.about.active, c.about.user = 2, now, defaultUser
	c.logOut()
	c.pace = newPace(nc)
	return c
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for more := c.wire.shakeHands(c.gone) == nil; more; {
		more = c.next()
	}
	c.hangUp(errLeft)
	c.unsubscribeAll()
	c.stopTails()
	c.replies.close()
	c.wire.close()
	c.in.Close()
	c.kept.drop()
	c.memory.Give(c.memory.taken)
	c.srv.shares.release(c.memory.share)
	c.unknow()
}

// next handles one request. It reports whether another may follow.
func (c *conn) next() bool {
	c.wire.within = false
	if !c.outlast() {
		return false
	}
	if err := c.in.WaitInput(); err != nil {
		return false
	}
	c.wire.begin()
	args, err := c.in.Next()
	var tooLong *resp.RequestError
	var protocol resp.ProtocolError
	switch {
	case err == nil:
		return c.handle(args)
	case errors.As(err, &tooLong):
		c.tx.spoil()
		c.start(nil, refuse(oversized(tooLong)), 0)
		return true
	case errors.As(err, &protocol):
		c.srv.log.Debug("redis: closing connection", "client", c.wire.remote(), "error", err)
		c.start(nil, refuse(c.broken(protocol)), 0)
		c.wire.abort = true
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.isStopping():
		c.srv.endings.paused.log(&c.wire, slog.LevelInfo, "that paused within a request")
	}
	return false
}

// broken is what a client hears whose request cannot be read. Since a user who was removed
// may still send large requests, these are refused as small ones are.
func (c *conn) broken(e resp.ProtocolError) replyError {
	tooMuch := e == resp.ErrArrayUnauthenticated || e == resp.ErrBulkUnauthenticated
	if tooMuch && c.who.login.Name != "" {
		return errNoAuth
	}
	return replyError("ERR " + e.Error())
}

func oversized(e *resp.RequestError) replyError {
	kind := turn.TooLarge
	if e.Limit == 0 {
		kind = turn.Overloaded
	}
	return replyError(kind.String() + " " + e.Error() + "; nothing was changed")
}

func (c *conn) handle(args [][]byte) bool {
	bytes := c.in.Bytes() // before a handler takes the payloads away
	cmd, err := c.srv.table.find(args)
	if cmd == nil && (is(args[0], "POST") || is(args[0], "Host:")) {
		// A web page made a browser talk to this port; nothing it sends is meant.
		c.srv.endings.http.log(&c.wire, slog.LevelWarn, "that speaks HTTP")
		return false
	}
	if err == "" {
		err = c.authorise(cmd, args)
	}
	if err == "" {
		err = c.checkKeys(cmd, args)
	}
	a := refuse(err)
	switch {
	case c.tx.open != nil && (cmd == nil || !cmd.passes()):
		a = c.enqueue(cmd, args, err, bytes)
	case err == "" && c.listening() && !cmd.whileListening():
		a = refuse(errListening(cmd.name))
	case err == "":
		a = c.guard(cmd, args, cmd.handle(c, args))
	default:
		c.tx.spoil()
	}
	if a.last {
		c.vanish()
	}
	if a.blocks {
		c.touch(nil) // it is shown when it waits or has ended
	} else {
		c.touch(cmd)
	}
	c.start(cmd, a, bytes)
	return !a.last
}

// checkKeys refuses keys that are too long before anything is kept of them.
func (c *conn) checkKeys(cmd *command, args [][]byte) replyError {
	most := c.srv.engine.Limits().KeyBytes
	keys, step := cmd.keyRun(args)
	if cmd.blocks && len(keys) > maxBlockingKeys*step {
		return tooLarge("%s can wait for %d keys at most", cmd.name, maxBlockingKeys)
	}
	for i := 0; i < len(keys); i += step {
		if n := len(keys[i]); n > most {
			return tooLarge("session key has %d bytes, the limit is %d", n, most)
		}
	}
	return ""
}

func tooLarge(format string, args ...any) replyError {
	return replyError(errorText(turn.Errorf(turn.TooLarge, format, args...), false))
}

// maxBlockingKeys is how many keys a request can wait for.
const maxBlockingKeys = 1000

func (c *conn) touch(cmd *command) {
	now := c.srv.cfg.Now()
	c.about.mu.Lock()
	c.about.active = now
	if cmd != nil {
		c.about.command = cmd.name
	}
	c.about.mu.Unlock()
}

// vanish takes the connection out of CLIENT LIST: once the client has the answer to its
// last request, the connection is not listed any more, as in Redis.
func (c *conn) vanish() {
	c.about.mu.Lock()
	c.about.ending = true
	c.about.mu.Unlock()
}

// isEnding reports whether the last request was handled.
func (c *conn) isEnding() bool {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	return c.about.ending
}

// show makes a command the last one that CLIENT LIST shows.
func (c *conn) show(command string) {
	c.about.mu.Lock()
	c.about.command = command
	c.about.mu.Unlock()
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
	c.about.mu.Lock()
	c.about.db = db
	c.about.mu.Unlock()
}
