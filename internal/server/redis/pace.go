package redis

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

const (
	// peekEvery: of the requests served inline, every so many is followed by a
	// look for input.
	peekEvery = 16
	// calmAfter: an eager client that has sent so many requests singly is
	// served inline again.
	calmAfter = 256
)

// pace is how a client sends its requests.
//
// One that waits for each answer before it sends the next request is served
// inline, by the goroutine that reads: nothing could happen beside it, and two
// changes of goroutine are saved for each request. An eager one, which sends on,
// is noticed by input that is there before its answer went out; from then on its
// requests are started as they come.
type pace struct {
	raw   syscall.RawConn // nil: input cannot be looked for, so nothing is served inline
	eager bool
	// count is the number of requests served inline or, of an eager client, of
	// requests in a row that came when nothing was under way.
	count int
}

func newPace(nc net.Conn) pace {
	return pace{raw: rawConn(nc)}
}

// single reports whether a request that came when nothing was under way is to
// be served inline.
func (p *pace) single() bool {
	if p.raw == nil {
		return false
	}
	p.count++
	if p.eager && p.count >= calmAfter {
		p.eager, p.count = false, 0
	}
	return !p.eager
}

// broken notes that a request came while something was under way.
func (p *pace) broken() {
	if p.eager {
		p.count = 0
	}
}

// served looks, now and then, whether there is input although the answer has not
// been sent.
func (p *pace) served() {
	if p.count%peekEvery == 0 && p.more() {
		p.eager, p.count = true, 0
	}
}

// more reports whether there is input, as far as can be told.
func (p *pace) more() (more bool) {
	if p.raw == nil {
		return false
	}
	err := p.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		more = err == nil && n > 0
	})
	return err == nil && more
}

// inline serves an action at once, if nothing else is under way and nothing is
// expected to come meanwhile. Its outcome is to be answered directly.
func (c *conn) inline(a action) (r reply, err error, ok bool) {
	if a.keys == nil || a.op == nil && a.work == nil && a.queries == nil || c.replies.shared {
		return nil, nil, false
	}
	if c.unread() || !c.replies.idle() {
		c.pace.broken()
		return nil, nil, false
	}
	if !c.pace.single() {
		return nil, nil, false
	}
	if a.op == nil {
		r, _, err = c.srv.perform(c.srv.work, &a)
	} else {
		p := c.srv.engine.Submit(c.srv.work, a.op)
		var res turn.Result
		res, err = p.Wait()
		c.order.noteWrite(res.Index)
		r = func(w *resp.Writer) { a.done(w, res) }
	}
	c.pace.served()
	return r, err, true
}
