package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/access"
	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// conn is one client's connection. Its fields belong to the goroutine in serve,
// but for about.
type conn struct {
	srv     *Server
	id      uint64
	nc      net.Conn
	in      *resp.RequestReader
	replies *replies

	namespace string
	order     order
	barrier   <-chan struct{} // what everything must wait for before it starts; nil: nothing
	reading   chan struct{}   // tokens of the reads under way, see maxReads
	pace      pace

	login access.Login // as whom the client has authenticated
	users *access.Set  // in which user was looked up
	user  *access.User // nil: nobody; or, where there are no users, anybody

	writeBy   time.Time     // the socket's write deadline
	lastWrite Pending       // the last one that was handed over at once
	written   atomic.Uint64 // the log entry of the last one that has ended, as far as noted: see noteWrite
	proto     int           // version of the protocol, as of the last request
	burst     burst
	subs      subscriptions
	tails     map[turn.Key]*pushTail
	tx        *transaction // since MULTI; nil: none
	watched   []*watched
	within    bool // part of a request was received
	timed     bool // the socket has a read deadline

	quiet bool // CLIENT REPLY OFF
	skip  int  // replies to suppress, CLIENT REPLY SKIP
	abort bool // the input cannot be read on; close gently

	// gone ends when the client has stopped sending for good: nobody waits for
	// what blocks.
	gone    context.Context
	hangUp  context.CancelFunc
	started time.Time

	wasCut atomic.Bool // see cut
	about  about
}

// about is what other connections may see and do.
type about struct {
	mu       sync.Mutex
	stopping bool      // no further input is waited for
	stopBy   time.Time // … from then on at the latest
	name     string
	libName  string
	libVer   string
	db       int
	proto    int
	command  string
	user     string
	known    *access.User // as conn.user
	login    access.Login // as conn.login
	active   time.Time    // when the last request was received
	noEvict  bool
	// channels and patterns are the numbers of subscriptions.
	channels, patterns int
}

func (s *Server) newConn(nc net.Conn) *conn {
	now := s.cfg.Now()
	c := &conn{srv: s, id: s.nextID.Add(1), nc: nc, namespace: turn.DefaultNamespace,
		reading: make(chan struct{}, maxReads), started: now, proto: 2}
	c.gone, c.hangUp = context.WithCancel(s.work)
	c.in = resp.NewRequestReader(source{c}, resp.Limits{MaxRequest: s.cfg.MaxRequestBytes, Budget: s.receive})
	c.replies = newReplies(resp.NewWriter(sink{c}), s.cfg.PipelineRequests, s.cfg.PipelineBytes, &s.pushing)
	c.about.proto, c.about.active, c.about.user = 2, now, defaultUser
	c.logOut()
	c.pace = newPace(nc)
	return c
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for c.next() {
	}
	c.hangUp()
	c.unsubscribeAll()
	c.stopTails()
	c.replies.close()
	if c.abort {
		c.linger()
	}
	c.nc.Close()
	c.in.Close()
}

// next handles one request. It reports whether another may follow.
func (c *conn) next() bool {
	c.within = false
	if err := c.in.WaitInput(); err != nil {
		return false
	}
	c.within = true
	args, err := c.in.Next()
	var tooLong *resp.RequestError
	var protocol resp.ProtocolError
	switch {
	case err == nil:
		return c.handle(args)
	case errors.As(err, &tooLong):
		if c.tx != nil {
			c.tx.dirty = true
		}
		c.start(nil, refuse(oversized(tooLong)), 0)
		return true
	case errors.As(err, &protocol):
		c.srv.log.Debug("redis: closing connection", "client", c.nc.RemoteAddr(), "error", err)
		c.start(nil, refuse(replyError("ERR "+protocol.Error())), 0)
		c.abort = true
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.isStopping():
		c.srv.log.Info("redis: closing connection that paused within a request", "client", c.nc.RemoteAddr())
	}
	return false
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
		c.srv.log.Warn("redis: closing connection that speaks HTTP", "client", c.nc.RemoteAddr())
		return false
	}
	if err == "" {
		err = c.authorise(cmd, args)
	}
	a := refuse(err)
	switch {
	case c.tx != nil && (cmd == nil || !cmd.passes()):
		a = c.enqueue(cmd, args, err, bytes)
	case err == "" && c.listening() && !cmd.whileListening():
		a = refuse(errListening(cmd.name))
	case err == "":
		a = c.guard(cmd, args, cmd.handle(c, args))
	case c.tx != nil:
		c.tx.dirty = true
	}
	c.touch(cmd)
	c.start(cmd, a, bytes)
	return !a.last
}

func (c *conn) touch(cmd *command) {
	now := c.srv.cfg.Now()
	c.about.mu.Lock()
	c.about.active = now
	if cmd != nil {
		c.about.command = cmd.name
	}
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

// stop ends the input: what was received is answered, then the connection closes.
// What blocks ends at once; the requests behind it could not be answered in time.
func (c *conn) stop() {
	c.hangUp()
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	if !c.about.stopping {
		c.about.stopping, c.about.stopBy = true, time.Now().Add(stopTime)
	}
	c.nc.SetReadDeadline(past)
}

// past as a deadline ends a read or write at once.
var past = time.Unix(1, 0)

func (c *conn) isStopping() bool {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	return c.about.stopping
}
