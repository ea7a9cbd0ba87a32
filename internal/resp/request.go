package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

const (
	readBuffer = 4 << 10  // what a connection that is idle keeps
	smallArena = 16 << 10 // an arena up to this size is kept and not charged to the budget
)

// RequestReader reads the requests of a client: arrays of bulk strings, and
// lines of words ("inline commands").
//
// The arguments of a request lie in one arena, which the next call of Next
// overwrites; Detach makes them the caller's own.
type RequestReader struct {
	br    *bufio.Reader
	lim   Limits
	arena []byte
	ends  []int    // where each argument ends in arena
	args  [][]byte // the same, as slices; made when the request is whole
	taken int      // bytes charged to the budget

	unauthenticated bool // see SetUnauthenticated

	size int           // counted against MaxRequest so far
	drop *RequestError // set: the rest of the request is not kept
}

// NewRequestReader returns a reader of requests from r.
func NewRequestReader(r io.Reader, lim Limits) *RequestReader {
	return &RequestReader{br: bufio.NewReaderSize(r, readBuffer), lim: lim.withDefaults()}
}

// SetUnauthenticated says that the client has yet to show who it is. While it has not,
// requests have at most 10 arguments of 16 KiB, as with Redis, or a line of 4 KiB;
// others are a ProtocolError.
func (r *RequestReader) SetUnauthenticated(yes bool) { r.unauthenticated = yes }

// Buffered returns the number of bytes that were received and not read yet: if
// it is 0, Next waits for the client.
func (r *RequestReader) Buffered() int { return r.br.Buffered() }

// WaitInput blocks until there is something to read or the connection ended.
// It holds no memory but the read buffer while it waits.
func (r *RequestReader) WaitInput() error {
	r.reset()
	_, err := r.br.Peek(1)
	return err
}

// Fill waits for more input, and keeps it for Next. ErrFull means that it keeps as much
// as it can; other errors are those of the connection, and after a deadline it may be
// called again. It may be called between requests only.
func (r *RequestReader) Fill() error {
	r.reset()
	_, err := r.br.Peek(r.br.Buffered() + 1)
	if err == bufio.ErrBufferFull {
		return ErrFull
	}
	return err
}

// ErrFull says that a RequestReader keeps no more unread input.
var ErrFull = errors.New("resp: the read buffer is full")

// Next returns the arguments of the next request, at least one. They are valid
// until the next call of any method but Buffered.
//
// A *RequestError concerns that request alone. A ProtocolError is final, and so
// is an error of the connection: io.EOF between two requests,
// io.ErrUnexpectedEOF within one.
func (r *RequestReader) Next() ([][]byte, error) {
	for {
		r.reset()
		c, err := r.br.Peek(1)
		if err != nil {
			return nil, err
		}
		if c[0] == '*' {
			err = r.readArray()
		} else {
			err = r.readInline()
		}
		switch {
		case err != nil:
			return nil, unexpected(err)
		case r.drop != nil:
			return nil, r.drop
		case len(r.ends) > 0:
			return r.slice(), nil
		}
	}
}

// Detach gives the memory of the current request to the caller: its arguments
// stay valid and unchanged for ever.
func (r *RequestReader) Detach() {
	r.arena = nil
	r.release()
}

// Bytes returns how many bytes the arguments of the current request have together.
func (r *RequestReader) Bytes() int { return len(r.arena) }

func (r *RequestReader) reset() {
	r.size, r.drop = 0, nil
	r.ends = r.ends[:0]
	clear(r.args)
	r.args = r.args[:0]
	r.arena = r.arena[:0]
	if cap(r.arena) > smallArena {
		r.arena = nil
	}
	if cap(r.args) > smallArena/argOverhead {
		r.args, r.ends = nil, nil
	}
	r.release()
}

// Close gives back what the reader holds of the budget. It does not close the
// connection.
func (r *RequestReader) Close() { r.Detach() }

func (r *RequestReader) release() {
	r.lim.Memory.Give(r.taken)
	r.taken = 0
}

func (r *RequestReader) slice() [][]byte {
	start := 0
	for _, end := range r.ends {
		r.args = append(r.args, r.arena[start:end:end])
		start = end
	}
	return r.args
}

// readArray reads "*n" and n bulk strings. An array without elements is no
// request, as in Redis.
// What a client hears that has not authenticated, and sends more than that takes.
const (
	ErrArrayUnauthenticated ProtocolError = "unauthenticated multibulk length"
	ErrBulkUnauthenticated  ProtocolError = "unauthenticated bulk length"
)

func (r *RequestReader) readArray() error {
	n, err := r.header("too big mbulk count string", "invalid multibulk length")
	if err != nil {
		return err
	}
	if n > int64(r.lim.MaxArgs) {
		return ProtocolError("invalid multibulk length")
	}
	if r.unauthenticated && n > 10 {
		return ErrArrayUnauthenticated
	}
	for range n {
		if err := r.readArg(); err != nil {
			return err
		}
	}
	return nil
}

func (r *RequestReader) readArg() error {
	c, err := r.br.Peek(1)
	if err != nil {
		return err
	}
	if c[0] != '$' {
		return ProtocolError(fmt.Sprintf("expected '$', got '%s'", printable(c[0])))
	}
	n, err := r.header("too big bulk count string", "invalid bulk length")
	if err != nil {
		return err
	}
	if n < 0 || n > r.lim.MaxBulk {
		return ProtocolError("invalid bulk length")
	}
	if r.unauthenticated && n > 16<<10 {
		return ErrBulkUnauthenticated
	}
	r.size += int(n) + argOverhead
	if r.drop == nil && r.size > r.lim.MaxRequest {
		r.startDropping(&RequestError{Limit: r.lim.MaxRequest})
	}
	if err := r.readBody(int(n)); err != nil {
		return err
	}
	return r.crlf()
}

// readBody appends n bytes to the arena. What is allocated is never more than
// what has arrived already, or readBuffer.
func (r *RequestReader) readBody(n int) error {
	for n > 0 && r.drop == nil {
		chunk := min(n, max(readBuffer, len(r.arena)))
		if !r.grow(chunk, n) {
			r.startDropping(&RequestError{})
			break
		}
		start := len(r.arena)
		r.arena = r.arena[:start+chunk]
		if _, err := io.ReadFull(r.br, r.arena[start:]); err != nil {
			return err
		}
		n -= chunk
	}
	if r.drop != nil {
		_, err := r.br.Discard(n)
		return err
	}
	r.ends = append(r.ends, len(r.arena))
	if len(r.ends)%1024 == 0 && !r.charge(cap(r.arena)) {
		r.startDropping(&RequestError{})
	}
	return nil
}

// grow makes room for n more bytes, if the budget has them, and at best for rest,
// which will be needed if the client keeps its word.
func (r *RequestReader) grow(n, rest int) bool {
	old := cap(r.arena)
	if len(r.arena)+n <= old {
		return true
	}
	// For a moment the old and the new arena exist side by side; the new one is
	// what counts.
	want := max(len(r.arena)+n, min(2*old, len(r.arena)+rest))
	if !r.charge(want) {
		return false
	}
	r.arena = slices.Grow(r.arena, want-len(r.arena))
	return true
}

// charge makes the budget pay for an arena of that size and for the arguments.
func (r *RequestReader) charge(arena int) bool {
	total := arena + len(r.ends)*argOverhead
	if total <= smallArena || total <= r.taken {
		return true
	}
	if !r.lim.Memory.Take(total - r.taken) {
		return false
	}
	r.taken = total
	return true
}

func (r *RequestReader) startDropping(why *RequestError) {
	r.drop = why
	r.arena, r.args, r.ends = nil, nil, nil
	r.release()
}

func (r *RequestReader) crlf() error {
	b, err := r.br.Peek(2)
	if err != nil {
		return err
	}
	if b[0] != '\r' || b[1] != '\n' {
		// Redis skips these two bytes unseen. A client that counts characters
		// instead of bytes would silently store mutilated payloads.
		return ProtocolError("expected CRLF after a bulk string")
	}
	_, err = r.br.Discard(2)
	return err
}

// header reads a line of a type byte and a number.
func (r *RequestReader) header(tooLong, malformed ProtocolError) (int64, error) {
	line, err := r.br.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return 0, tooLong
	}
	if err != nil {
		return 0, err
	}
	n, ok := parseInt(bytes.TrimSuffix(line[1:len(line)-1], []byte{'\r'}))
	if !ok {
		return 0, malformed
	}
	return n, nil
}

// readInline reads a line of words. An empty line is no request.
func (r *RequestReader) readInline() error {
	var line []byte
	for {
		part, err := r.br.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		most := r.lim.MaxInline
		if r.unauthenticated {
			most = min(most, readBuffer)
		}
		if len(line)+len(part) > most || err != nil && !r.charge(2*len(line)+readBuffer) {
			return ProtocolError("too big inline request")
		}
		if err == nil && line == nil {
			line = part // the usual case, without a copy
			break
		}
		line = append(line, part...)
		if err == nil {
			break
		}
	}
	var ok bool
	line = bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'})
	if r.arena, r.ends, ok = splitWords(line, r.arena, r.ends); !ok {
		return ProtocolError("unbalanced quotes in request")
	}
	return nil
}

// parseInt reads a decimal integer as Redis does: no sign but '-', no spaces,
// no leading zeros.
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 20 || b[0] == '+' {
		return 0, false
	}
	digits := bytes.TrimPrefix(b, []byte{'-'})
	if len(digits) == 0 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// printable returns c as it may appear in an error line.
func printable(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("\\x%02x", c)
	}
	return string(c)
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
