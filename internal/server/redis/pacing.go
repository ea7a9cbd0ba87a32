package redis

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/turnlog/turnlog/internal/hangup"
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

// pacing is how a client sends its requests.
//
// One that waits for each answer before it sends the next request is served
// inline, by the goroutine that reads: nothing could happen beside it, and two
// changes of goroutine are saved for each request. An eager one, which sends on,
// is noticed by input that is there before its answer went out; from then on its
// requests are started as they come.
type pacing struct {
	raw   syscall.RawConn // nil: input cannot be looked for, so nothing is served inline
	eager bool
	// count is the number of requests served inline or, of an eager client, of
	// requests in a row that came when nothing was in flight.
	count int
}

func newPacing(nc net.Conn) pacing {
	return pacing{raw: hangup.Raw(nc)}
}

// single reports whether a request that came when nothing was in flight is to
// be served inline.
func (p *pacing) single() bool {
	if p.raw == nil {
		return false
	}
	p.count++
	if p.eager && p.count >= calmAfter {
		p.eager, p.count = false, 0
	}
	return !p.eager
}

// broken notes that a request came while something was in flight.
func (p *pacing) broken() {
	if p.eager {
		p.count = 0
	}
}

// served looks, now and then, whether there is input although the answer has not
// been sent.
func (p *pacing) served() {
	if p.count%peekEvery == 0 && p.more() {
		p.eager, p.count = true, 0
	}
}

// more reports whether there is input, as far as can be told.
func (p *pacing) more() (more bool) {
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

// inlines reports whether what concerns these keys is to be performed inline: nothing else
// is in flight, and nothing is expected to come before it is answered.
func (c *conn) inlines(keys []turn.Key) bool {
	if keys == nil || c.replies.Shared || c.order.Doubts.Open() {
		return false
	}
	if c.unread() || !c.replies.Idle() {
		c.pacing.broken()
		return false
	}
	return c.pacing.single()
}
