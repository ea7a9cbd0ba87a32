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
	"github.com/turnlog/turnlog/internal/server/redis/command"
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

	order    order
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
	c.info.proto, c.info.active, c.info.user = 2, now, defaultUser
	c.logOut()
	c.pacing = newPacing(nc)
	return c
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for more := c.wire.shakeHands(c.gone) == nil; more; {
		more = c.next()
	}
	c.hangUp(command.ErrLeft)
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
		return c.execute(nil, oversized(tooLong), 0)
	case errors.As(err, &protocol):
		c.srv.log.Debug("redis: closing connection", "client", c.wire.remote(), "error", err)
		c.execute(nil, c.broken(protocol), 0)
		c.wire.abort = true
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.isStopping():
		c.srv.endings.paused.log(&c.wire, slog.LevelInfo, "that paused within a request")
	}
	return false
}

// broken is what a client hears whose request cannot be read. Since a user who was removed
// may still send large requests, these are refused as small ones are.
func (c *conn) broken(e resp.ProtocolError) command.Error {
	tooMuch := e == resp.ErrArrayUnauthenticated || e == resp.ErrBulkUnauthenticated
	if tooMuch && c.who.login.Name != "" {
		return command.ErrNoAuth
	}
	return command.Error("ERR " + e.Error())
}

func oversized(e *resp.RequestError) command.Error {
	kind := turn.TooLarge
	if e.Limit == 0 {
		kind = turn.Overloaded
	}
	return command.Error(kind.String() + " " + e.Error() + "; nothing was changed")
}

// handle takes a request its way: it looks the command up, authorises it, decides whether
// and when it is handled, and performs the action that its handler makes of it. It reports
// whether another request may follow.
func (c *conn) handle(args [][]byte) (more bool) {
	bytes := c.in.Bytes() // before a handler takes the payloads away
	cmd, refusal := c.srv.table.Find(args)
	if cmd == nil && speaksHTTP(args) {
		c.srv.endings.http.log(&c.wire, slog.LevelWarn, "that speaks HTTP")
		return false
	}
	if refusal == "" {
		refusal = c.authorise(cmd, args)
	}
	if refusal == "" {
		refusal = c.checkKeys(cmd, args)
	}
	a := c.decide(cmd, args, refusal, bytes)
	c.touch(cmd, a)
	return c.execute(cmd, a, bytes)
}

// speaksHTTP recognises a web page that made a browser talk to this port: nothing that it
// sends is meant.
func speaksHTTP(args [][]byte) bool {
	return command.Is(args[0], "POST") || command.Is(args[0], "Host:")
}

// decide makes an action of a request: it is queued, refused or handled now.
func (c *conn) decide(cmd *command.Command, args [][]byte, refusal command.Error, bytes int) command.Action {
	switch {
	case c.tx.open != nil && (cmd == nil || !passes(cmd)):
		return c.enqueue(cmd, args, refusal, bytes)
	case refusal != "":
		c.tx.spoil()
		return refusal
	case c.listening() && !whileListening(cmd):
		return errListening(cmd.Name)
	}
	return c.guard(cmd, args, c.dispatch(cmd, args))
}

// checkKeys refuses keys that are too long before anything is kept of them.
func (c *conn) checkKeys(cmd *command.Command, args [][]byte) command.Error {
	most := c.srv.engine.Limits().KeyBytes
	keys, step := cmd.KeyRun(args)
	if cmd.Blocks && len(keys) > maxBlockingKeys*step {
		return tooLarge("%s can wait for %d keys at most", cmd.Name, maxBlockingKeys)
	}
	for i := 0; i < len(keys); i += step {
		if n := len(keys[i]); n > most {
			return tooLarge("session key has %d bytes, the limit is %d", n, most)
		}
	}
	return ""
}

func tooLarge(format string, args ...any) command.Error {
	return command.Error(command.ErrorText(turn.Errorf(turn.TooLarge, format, args...), false))
}

// maxBlockingKeys is how many keys a request can wait for.
const maxBlockingKeys = 1000

// touch notes for CLIENT LIST that a request was received. A command that waits is shown
// when it does, or has ended.
func (c *conn) touch(cmd *command.Command, a command.Action) {
	now := c.srv.cfg.Now()
	_, waits := a.(*command.Wait)
	c.info.mu.Lock()
	c.info.active = now
	if cmd != nil && !waits {
		c.info.command = cmd.Name
	}
	c.info.mu.Unlock()
}

// vanish takes the connection out of CLIENT LIST: once the client has the answer to its
// last request, the connection is not listed any more, as in Redis.
func (c *conn) vanish() {
	c.info.mu.Lock()
	c.info.ending = true
	c.info.mu.Unlock()
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
