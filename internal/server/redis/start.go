package redis

import (
	"errors"

	"github.com/turnlog/turnlog/internal/resp"
)

// maxReads is how many reads of one connection may be under way, or wait for
// their replies to be written, at once. A bulky one counts as bulkyReads, since
// its reply can be as long as Limits.ReadBytes.
const (
	maxReads   = 32
	bulkyReads = 8
)

// started is an action under way.
type started struct {
	ready   <-chan struct{}       // closed when outcome will not wait; nil: it never does
	outcome func() (reply, error) // waits for the engine's answer
	written func()                // to be called when the reply is written; may be nil
}

// start starts an action and puts its reply in line. cmd is nil if there is no
// such command.
func (c *conn) start(cmd *command, a action, bytes int) {
	o := owed{bytes: bytes}
	begun := c.srv.cfg.Now()
	mute := c.quiet || c.skip > 0
	c.skip = max(0, c.skip-1)
	b := c.note(a)
	answer := func(w *resp.Writer, r reply, err error) {
		c.srv.stats.count(cmd, c.srv.cfg.Now().Sub(begun), err != nil)
		switch {
		case mute || errors.Is(err, errLeft):
		case err != nil:
			w.Error(b.errorText(c, err, cmd != nil && cmd.native))
		default:
			r(w)
		}
	}
	if r, err, ok := c.inline(a); ok {
		answer(c.replies.w, r, err)
		return
	}
	var s started
	switch {
	case a.gate:
		c.srv.stats.count(cmd, c.srv.cfg.Now().Sub(begun), false)
		c.replies.put(o)
		return
	case a.publish != nil:
		s = c.tell(a.publish)
	case a.op != nil:
		s = c.submit(a)
	case a.work != nil || a.queries != nil:
		if a.blocks {
			c.beginBlock(cmd.name)
		}
		s = c.launch(a)
		if a.blocks {
			c.blocking = s.ready
		}
	case a.say != nil:
		s.outcome = func() (reply, error) { return a.say, nil }
	default:
		s.outcome = func() (reply, error) { return nil, a.fail }
	}
	o.ready = s.ready
	o.write = func(w *resp.Writer) {
		if s.written != nil {
			defer s.written()
		}
		r, err := s.outcome()
		answer(w, r, err)
	}
	c.replies.put(o)
}

// submit hands a write over, in order and without waiting for earlier ones.
func (c *conn) submit(a action) started {
	c.awaitBarrier()
	for _, k := range a.keys {
		c.await(c.order.beforeWrite(k))
	}
	p := c.srv.engine.Submit(c.srv.work, a.op)
	for _, k := range a.keys {
		c.order.wrote(k, p.Done())
	}
	return started{ready: p.Done(), outcome: func() (reply, error) {
		r, err := p.Wait()
		c.order.noteWrite(r.Index)
		return func(w *resp.Writer) { a.done(w, r) }, err
	}}
}

// launch runs work in a goroutine of its own.
func (c *conn) launch(a action) started {
	c.awaitBarrier()
	read := &reading{done: make(chan struct{})}
	if a.keys == nil {
		c.replies.drain()
		c.order.alone(read.done)
	}
	for _, k := range a.keys {
		c.order.beforeRead(k, read)
	}
	weight := 1
	if a.bulky {
		weight = bulkyReads
	}
	c.order.admit(weight)
	var r reply
	var err error
	go func() {
		if a.blocks {
			defer c.wake()
		}
		defer close(read.done)
		if a.blocks {
			defer c.endBlock()
		}
		r, err = c.srv.read(read, &a)
	}()
	outcome := func() (reply, error) {
		<-read.done
		return r, err
	}
	return started{ready: read.done, outcome: outcome, written: func() { c.order.release(weight) }}
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

// awaitBarrier waits until what everything must wait for has ended.
func (c *conn) awaitBarrier() { c.await(c.order.barrier) }

// await waits for something under way, or for the end of all work.
func (s *Server) await(done <-chan struct{}) {
	select {
	case <-done:
	case <-s.work.Done():
	}
}
