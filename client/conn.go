package client

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
)

// directBytes is the most that a caller writes by itself. So much fits into the
// socket buffer of a connection with nothing in flight, so that it cannot block.
const directBytes = 16 << 10

// writePart is how much the peer has to take within the stall timeout. Servers take requests from
// clients that are as slow as that.
const writePart = 64 << 10

// maxSpare is the most write memory that a connection keeps.
const maxSpare = 256 << 10

// errSilent ends a connection that owes answers and sends nothing.
var errSilent = errors.New("the server sent nothing for too long")

// conn is one connection, shared by any number of callers. Requests are
// answered in the order in which they are written.
//
// Writing: on a connection with nothing in flight, the caller writes its own
// request, which saves a handover between goroutines; else the request joins
// those that gather, and the writer sends all of them at once.
//
// Two goroutines, writeLoop and readLoop, live until the connection ends.
type conn struct {
	nc           net.Conn
	stallTimeout time.Duration // 0: none
	ended        chan struct{} // closed when err is set
	wake         chan struct{} // capacity 1: there is something to write
	loops        sync.WaitGroup

	mu      sync.Mutex
	out     []byte  // encoded requests that gather for the next write
	spare   []byte  // memory for the next out
	unsent  int     // how many of waiting are in out
	waiting []*call // unanswered, in the order of their requests
	writing bool    // somebody is in nc.Write
	err     error   // why the connection ended
}

// call is a request on its way through one connection.
type call struct {
	done  chan struct{} // closed when the fields below are set
	reply resp.Value
	err   error // the connection ended before the answer
	sent  bool  // with err: the request may have left this machine
	held  *held
}

// end tells the caller that the call is over.
func (cl *call) end() {
	close(cl.done)
	cl.held.drop()
}

// newConn takes over nc and starts the loops.
func newConn(nc net.Conn, stallTimeout time.Duration) *conn {
	c := &conn{nc: nc, stallTimeout: stallTimeout, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	c.loops.Add(2)
	go c.writeLoop()
	go c.readLoop(resp.NewReplyReader(answerReader{c}, resp.Limits{}))
	return c
}

// send puts requests on their way, one after another on the wire. A caller that
// does not wait for an answer leaves it unread.
func (c *conn) send(rs ...*request) ([]*call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	calls := make([]*call, len(rs))
	idle := len(c.waiting) == 0
	for i, r := range rs {
		calls[i] = &call{done: make(chan struct{}), held: r.held.take()}
		c.out = r.appendTo(c.out)
		c.waiting = append(c.waiting, calls[i])
		c.unsent++
	}
	if idle {
		c.expectAnswerLocked()
	}
	if idle && !c.writing && len(c.out) <= directBytes {
		c.writeLocked()
	} else {
		c.wakeWriter()
	}
	return calls, nil
}

// wait waits for the answer, or for ctx; then sent is true, since the request
// is still on its way.
func (cl *call) wait(ctx context.Context) (v resp.Value, sent bool, err error) {
	select {
	case <-cl.done:
		return cl.reply, cl.sent, cl.err
	case <-ctx.Done():
		return resp.Value{}, true, ctx.Err()
	}
}

func (c *conn) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) writeLoop() {
	defer c.loops.Done()
	for {
		select {
		case <-c.ended:
			return
		case <-c.wake:
		}
		c.mu.Lock()
		for !c.writing && len(c.out) > 0 && c.err == nil {
			c.writeLocked()
		}
		c.mu.Unlock()
	}
}

// writeLocked writes what has gathered. It lets go of the lock meanwhile.
func (c *conn) writeLocked() {
	buf := c.out
	c.out, c.spare = c.spare, nil
	c.unsent, c.writing = 0, true
	c.mu.Unlock()
	err := c.write(buf)
	c.mu.Lock()
	c.writing = false
	if err != nil {
		c.failLocked(err)
		return
	}
	if cap(buf) <= maxSpare {
		c.spare = buf[:0]
	}
	if len(c.out) > 0 {
		c.wakeWriter()
	}
}

// write writes buf. While the peer takes parts of it, it is not silent: it cannot answer yet.
func (c *conn) write(buf []byte) error {
	for rest := buf; len(rest) > 0; {
		part := rest[:min(len(rest), writePart)]
		rest = rest[len(part):]
		if c.stallTimeout > 0 {
			c.nc.SetWriteDeadline(time.Now().Add(c.stallTimeout))
		}
		if _, err := c.nc.Write(part); err != nil {
			return err
		}
		if len(rest) > 0 {
			c.mu.Lock()
			c.expectAnswerLocked()
			c.mu.Unlock()
		}
	}
	return nil
}

func (c *conn) readLoop(r *resp.ReplyReader) {
	defer c.loops.Done()
	for {
		v, err := r.Next()
		if err == nil && v.Kind == resp.Push {
			continue
		}
		c.mu.Lock()
		if err == nil && len(c.waiting) == 0 {
			err = resp.ProtocolError("answer without a request")
		}
		if err != nil {
			c.failLocked(err)
			c.mu.Unlock()
			return
		}
		cl := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		cl.reply = v
		cl.end()
	}
}

// answerReader is what answers are read from: every arrival of bytes renews the
// deadline, and with nothing in flight there is none.
type answerReader struct{ c *conn }

func (r answerReader) Read(p []byte) (int, error) {
	c := r.c
	c.mu.Lock()
	c.expectAnswerLocked()
	c.mu.Unlock()
	n, err := c.nc.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSilent
	}
	return n, err
}

func (c *conn) expectAnswerLocked() {
	switch {
	case c.stallTimeout <= 0:
	case len(c.waiting) == 0:
		c.nc.SetReadDeadline(time.Time{})
	default:
		c.nc.SetReadDeadline(time.Now().Add(c.stallTimeout))
	}
}

// failLocked ends the connection: every unanswered call fails, those whose
// requests were not written yet as surely not sent.
func (c *conn) failLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	close(c.ended)
	c.nc.Close()
	for i, cl := range c.waiting {
		cl.err, cl.sent = err, i < len(c.waiting)-c.unsent
		cl.end()
	}
	c.waiting, c.out = nil, nil
}

// load returns the number of unanswered requests, or -1 if the connection ended.
func (c *conn) load() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return -1
	}
	return len(c.waiting)
}

// close ends the connection and waits for its goroutines.
func (c *conn) close(why error) {
	c.mu.Lock()
	c.failLocked(why)
	c.mu.Unlock()
	c.loops.Wait()
}
