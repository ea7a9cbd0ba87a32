// Package resp is the wire format of Redis, versions 2 and 3: requests as a
// server reads them, replies as a client reads them, and a Writer for both.
//
// It knows frames, not commands. Its purpose is that a peer can be trusted with
// nothing: a frame that declares two gigabytes costs memory only as its bytes
// arrive, a request that is longer than the server wants is read past without
// being kept, and whatever breaks the format is a ProtocolError with Redis's
// own text.
//
// Streamed strings and aggregates ("$?", "*?"), which no Redis server sends,
// are not supported.
//
// Readers and Writers belong to one goroutine at a time.
package resp

import "fmt"

// ProtocolError says that the peer broke the format. Nothing more can be read
// from that connection, since the start of the next frame is unknown.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// RequestError says that one request was read past without being kept. The
// connection is in step and goes on with the next request.
type RequestError struct {
	// Limit is the number of bytes that a request may have; 0 when the request
	// was within it, but the memory for requests being received is used up.
	Limit int
}

func (e *RequestError) Error() string {
	if e.Limit == 0 {
		return "the memory for requests being received is used up"
	}
	return fmt.Sprintf("the request is longer than %d bytes", e.Limit)
}

// Limits bounds what a Reader accepts. A zero field means its default.
type Limits struct {
	// MaxBulk is the longest string that a frame may declare: 512 MiB.
	MaxBulk int64
	// MaxArgs is the highest number of arguments of a request: 1,048,576.
	MaxArgs int
	// MaxInline is the length of an inline request's line: 64 KiB.
	MaxInline int
	// MaxRequest is how many bytes of a request are kept, counting
	// argOverhead for each argument. A longer one, within MaxBulk and MaxArgs,
	// is read past and reported as a RequestError: MaxBulk.
	MaxRequest int
	// Memory, if set, is charged with unfinished large requests.
	Memory Memory

	// MaxDepth is how deep aggregates of a reply may nest: 32.
	MaxDepth int
	// MaxReply is how many bytes a reply may have, counting elemOverhead for
	// each element: 1 GiB.
	MaxReply int64
}

const (
	argOverhead  = 32 // bookkeeping bytes of one argument
	elemOverhead = 64 // bookkeeping bytes of one element of a reply
)

func (l Limits) withDefaults() Limits {
	if l.Memory == nil {
		l.Memory = (*Budget)(nil)
	}
	if l.MaxBulk <= 0 {
		l.MaxBulk = 512 << 20
	}
	if l.MaxArgs <= 0 {
		l.MaxArgs = 1 << 20
	}
	if l.MaxInline <= 0 {
		l.MaxInline = 64 << 10
	}
	if l.MaxRequest <= 0 {
		l.MaxRequest = int(l.MaxBulk)
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = 32
	}
	if l.MaxReply <= 0 {
		l.MaxReply = 1 << 30
	}
	return l
}
