package httpapi

import (
	"bytes"
	"net"
	"net/http"
	"sync/atomic"
)

// What the head of a request, that is request line and headers, may have. Each line
// becomes an entry of a map, which takes many times the memory of a short line.
const (
	maxHead      = 16 << 10 // bytes
	maxHeadLines = 100
	lineOverhead = 128 // bytes that a line takes beside its own
)

// head follows the heads of a connection's requests. What it holds of the input belongs
// to the goroutine that reads; net/http has one at a time.
type head struct {
	past  atomic.Bool // it has been read, and the next is not awaited yet
	lines int
	line  int  // bytes of the line that has begun, be it of a body
	cr    bool // … the first of which is \r
}

// next awaits the next head. Nothing is being read then.
func (h *head) next() {
	h.lines = 0
	h.past.Store(false)
}

// see takes note of input. It returns how many bytes of memory the part of it takes
// that is of a head.
func (h *head) see(input []byte) (size int) {
	for len(input) > 0 && !h.past.Load() {
		line, rest, ended := bytes.Cut(input, []byte("\n"))
		size += len(input) - len(rest)
		h.begin(line)
		if h.tooLong() {
			return size
		}
		if ended && (h.line == 0 || h.line == 1 && h.cr) {
			h.past.Store(true)
		} else if ended {
			h.lines++
			size += lineOverhead
		}
		if input = rest; ended {
			h.line = 0
		}
	}
	// net/http may have read part of the next head with this one's body.
	if i := bytes.LastIndexByte(input, '\n'); i >= 0 {
		input, h.line = input[i+1:], 0
	}
	h.begin(input)
	return size
}

// begin notes more of a line.
func (h *head) begin(part []byte) {
	if h.line == 0 && len(part) > 0 {
		h.cr = part[0] == '\r'
	}
	h.line += len(part)
}

// tooLong reports whether the head has too many lines.
func (h *head) tooLong() bool { return h.lines > maxHeadLines && !h.past.Load() }

// Read lets a head with too many lines look like one with too many bytes, by a last
// line without an end: net/http then answers 431.
func (c *boundedConn) Read(p []byte) (n int, err error) {
	if n = len(p); !c.head.tooLong() {
		n, err = c.Conn.Read(p)
		if size := c.head.see(p[:n]); size > 0 {
			c.l.heads.hold(c, size)
		}
	}
	if c.head.tooLong() {
		for i := range n {
			p[i] = 'x'
		}
	}
	return n, err
}

// noteState awaits the next head when a request has ended.
func noteState(conn net.Conn, state http.ConnState) {
	if c := boundedOf(conn); c != nil && state == http.StateIdle {
		c.l.heads.settle(c)
		c.head.next()
	}
}
