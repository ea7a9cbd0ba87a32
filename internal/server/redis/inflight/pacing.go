package inflight

import (
	"net"
	"syscall"

	"github.com/turnlog/turnlog/internal/hangup"
)

const (
	// peekEvery: of the requests served inline, every so many is followed by a
	// look for input.
	peekEvery = 16
	// calmAfter: an eager client that has sent so many requests singly is
	// served inline again.
	calmAfter = 256
)

// Pacing is how a client sends its requests.
//
// One that waits for each answer before it sends the next request is served
// inline, by the goroutine that reads: nothing could happen beside it, and two
// changes of goroutine are saved for each request. An eager one, which sends on,
// is noticed by input that is there before its answer went out; from then on its
// requests are started as they come.
type Pacing struct {
	raw   syscall.RawConn // nil: input cannot be looked for, so nothing is served inline
	eager bool
	// count is the number of requests served inline or, of an eager client, of
	// requests in a row that came when nothing was in flight.
	count int
}

// NewPacing returns the pacing of the client at the other side of nc.
func NewPacing(nc net.Conn) Pacing { return Pacing{raw: hangup.Raw(nc)} }

// Single reports whether a request that came when nothing was in flight is to
// be served inline.
func (p *Pacing) Single() bool {
	if p.raw == nil {
		return false
	}
	p.count++
	if p.eager && p.count >= calmAfter {
		p.eager, p.count = false, 0
	}
	return !p.eager
}

// Broken notes that a request came while something was in flight.
func (p *Pacing) Broken() {
	if p.eager {
		p.count = 0
	}
}

// Served looks, now and then, whether there is input although the answer has not
// been sent.
func (p *Pacing) Served() {
	if p.count%peekEvery == 0 && hangup.Unread(p.raw) {
		p.eager, p.count = true, 0
	}
}
