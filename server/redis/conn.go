package redis

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/turnlog/turnlog/resp"
	"github.com/turnlog/turnlog/turn"
)

// maxReads is how many reads of one connection are under way at once.
const maxReads = 32

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
	reading   chan struct{}   // a token for each read under way
	lastWrite Pending         // for WAIT
	within    bool            // part of a request was received
	timed     bool            // the socket has a read deadline

	quiet bool // CLIENT REPLY OFF
	skip  int  // replies to suppress, CLIENT REPLY SKIP
	abort bool // the input cannot be read on; close gently

	// gone ends when the client has stopped sending for good: nobody waits for
	// what blocks.
	gone    context.Context
	hangUp  context.CancelFunc
	started time.Time

	about about
}

// about is what other connections may see and do.
type about struct {
	mu       sync.Mutex
	stopping bool // no further input is read
	name     string
	libName  string
	libVer   string
	db       int
	proto    int
	command  string
	active   time.Time // when the last request was received
	noEvict  bool
}

func (s *Server) newConn(nc net.Conn) *conn {
	now := s.cfg.Now()
	c := &conn{srv: s, id: s.nextID.Add(1), nc: nc, namespace: turn.DefaultNamespace,
		reading: make(chan struct{}, maxReads), started: now}
	c.gone, c.hangUp = context.WithCancel(s.work)
	c.in = resp.NewRequestReader(source{c}, resp.Limits{MaxRequest: s.cfg.MaxRequestBytes, Budget: s.receive})
	c.replies = newReplies(resp.NewWriter(sink{c}), s.cfg.PipelineRequests, s.cfg.PipelineBytes)
	c.about.proto, c.about.active = 2, now
	return c
}

// serve reads and starts requests until the input ends, then waits until all of
// them are answered.
func (c *conn) serve() {
	for c.next() {
	}
	c.hangUp()
	c.replies.drain()
	c.replies.w.Flush()
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
	cmd, err := c.srv.table.find(args)
	if cmd == nil && (is(args[0], "POST") || is(args[0], "Host:")) {
		// A web page made a browser talk to this port; nothing it sends is meant.
		c.srv.log.Warn("redis: closing connection that speaks HTTP", "client", c.nc.RemoteAddr())
		return false
	}
	a := refuse(err)
	if err == "" {
		a = cmd.handle(c, args)
	}
	c.touch(cmd)
	c.start(cmd, a, c.in.Bytes())
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

// start starts an action and puts its reply in line. cmd is nil if there is no
// such command.
func (c *conn) start(cmd *command, a action, bytes int) {
	o := owed{bytes: bytes}
	begun := c.srv.cfg.Now()
	mute := c.quiet || c.skip > 0
	c.skip = max(0, c.skip-1)
	var outcome func() (reply, error)
	switch {
	case a.op != nil:
		o.ready, outcome = c.submit(a)
	case a.work != nil:
		o.ready, outcome = c.launch(a)
	case a.say != nil:
		outcome = func() (reply, error) { return a.say, nil }
	default:
		outcome = func() (reply, error) { return nil, a.fail }
	}
	o.write = func(w *resp.Writer) {
		r, err := outcome()
		c.srv.stats.count(cmd, c.srv.cfg.Now().Sub(begun), err != nil)
		switch {
		case mute:
		case err != nil:
			w.Error(errorText(err, cmd != nil && cmd.native))
		default:
			r(w)
		}
	}
	c.replies.put(o)
}

// submit hands a write over, in order and without waiting for earlier ones.
func (c *conn) submit(a action) (<-chan struct{}, func() (reply, error)) {
	c.await(c.barrier)
	for _, k := range a.keys {
		for _, read := range c.order.beforeWrite(k) {
			c.await(read)
		}
	}
	p := c.srv.engine.Submit(c.srv.work, a.op)
	for _, k := range a.keys {
		c.order.wrote(k, p.Done())
	}
	c.lastWrite = p
	return p.Done(), func() (reply, error) {
		r, err := p.Wait()
		return func(w *resp.Writer) { a.done(w, r) }, err
	}
}

// launch runs work in a goroutine of its own.
func (c *conn) launch(a action) (<-chan struct{}, func() (reply, error)) {
	c.await(c.barrier)
	done := make(chan struct{})
	var before []<-chan struct{}
	if a.keys == nil {
		c.replies.drain()
		c.order.reset()
		c.barrier = done
	}
	for _, k := range a.keys {
		if w := c.order.beforeRead(k, done); w != nil {
			before = append(before, w)
		}
	}
	c.reading <- struct{}{}
	var r reply
	var err error
	go func() {
		defer close(done)
		defer func() { <-c.reading }()
		for _, w := range before {
			c.srv.await(w)
		}
		r, err = a.work(c.srv.work)
	}()
	return done, func() (reply, error) {
		<-done
		return r, err
	}
}

// await waits for something under way. Replies that were written directly must
// not wait with it.
func (c *conn) await(done <-chan struct{}) {
	if done == nil || closed(done) {
		return
	}
	c.replies.flush()
	c.srv.await(done)
}

// await waits for something under way, or for the end of all work.
func (s *Server) await(done <-chan struct{}) {
	select {
	case <-done:
	case <-s.work.Done():
	}
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

// payloads returns args as messages whose data stays unchanged, although the
// reader will use the memory of args again.
func (c *conn) payloads(args [][]byte) []turn.NewMessage {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	ms := make([]turn.NewMessage, len(args))
	if total >= 16<<10 {
		c.in.Detach() // instead of copying
		for i, a := range args {
			ms[i].Data = a
		}
		return ms
	}
	block := make([]byte, 0, total)
	for i, a := range args {
		start := len(block)
		block = append(block, a...)
		ms[i].Data = block[start:len(block):len(block)]
	}
	return ms
}

// stop ends the input: what was received is answered, then the connection closes.
// What blocks ends at once; the requests behind it could not be answered in time.
func (c *conn) stop() {
	c.hangUp()
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	c.about.stopping = true
	c.nc.SetReadDeadline(time.Unix(1, 0))
}

func (c *conn) isStopping() bool {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	return c.about.stopping
}

// linger lets the client read the last reply: closing a socket with unread input
// would make the kernel take the reply back.
func (c *conn) linger() {
	if half, ok := c.nc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(time.Second))
	io.CopyN(io.Discard, c.nc, 1<<20)
}

// source is where requests come from.
type source struct{ c *conn }

// Read writes out the replies that have gathered before it waits for more input.
func (s source) Read(p []byte) (int, error) {
	c := s.c
	c.replies.flush()
	if err := c.setReadDeadline(); err != nil {
		return 0, err
	}
	n, err := c.nc.Read(p)
	c.srv.stats.received.Add(uint64(n))
	return n, err
}

func (c *conn) setReadDeadline() error {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	switch {
	case c.about.stopping:
		return os.ErrDeadlineExceeded
	case c.within:
		c.timed = true
		return c.nc.SetReadDeadline(time.Now().Add(c.srv.cfg.ReadTimeout))
	case c.timed:
		c.timed = false
		return c.nc.SetReadDeadline(time.Time{})
	}
	return nil
}

// sink is where replies go.
type sink struct{ c *conn }

// writeChunk is what a client must accept within Config.WriteTimeout.
const writeChunk = 64 << 10

func (s sink) Write(p []byte) (n int, err error) {
	c := s.c
	for n < len(p) && err == nil {
		c.nc.SetWriteDeadline(time.Now().Add(c.srv.cfg.WriteTimeout))
		var m int
		m, err = c.nc.Write(p[n:min(len(p), n+writeChunk)])
		n += m
	}
	c.srv.stats.sent.Add(uint64(n))
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.srv.log.Warn("redis: closing connection of a client that does not read its replies",
				"client", c.nc.RemoteAddr(), slog.Duration("waited", c.srv.cfg.WriteTimeout))
		}
		c.nc.Close() // ends the input as well
	}
	return n, err
}
