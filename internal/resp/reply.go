package resp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// ReplyReader reads the replies of a server.
type ReplyReader struct {
	br   *bufio.Reader
	lim  Limits
	left int64 // what the current reply may still have
}

// NewReplyReader returns a reader of replies from r.
func NewReplyReader(r io.Reader, lim Limits) *ReplyReader {
	return &ReplyReader{br: bufio.NewReaderSize(r, 4*readBuffer), lim: lim.withDefaults()}
}

// Next returns the next reply, whose memory is the caller's. An error reply is
// a Value, not an error. Every error is final: a ProtocolError, or one of the
// connection, io.EOF between two replies and io.ErrUnexpectedEOF within one.
func (r *ReplyReader) Next() (Value, error) {
	if _, err := r.br.Peek(1); err != nil {
		return Value{}, err
	}
	r.left = r.lim.MaxReply
	v, err := r.value(0)
	if err != nil {
		return Value{}, unexpected(err)
	}
	return v, nil
}

func (r *ReplyReader) value(depth int) (Value, error) {
	kind, line, err := r.line()
	if err != nil {
		return Value{}, err
	}
	if r.left -= elemOverhead; r.left < 0 {
		return Value{}, r.tooLong()
	}
	switch kind {
	case Array, Map, Set, Push, attribute:
		if depth >= r.lim.MaxDepth {
			return Value{}, ProtocolError("reply is nested too deeply")
		}
		return r.aggregate(kind, line, depth)
	case BulkString, BulkError, Verbatim:
		return r.bulk(kind, line)
	default:
		return scalar(kind, line)
	}
}

// line reads a frame's first line. The slice is valid until the next read.
func (r *ReplyReader) line() (Kind, []byte, error) {
	line, err := r.br.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = r.longLine(slices.Clone(line))
	}
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, nil, ProtocolError("reply line without a type or CRLF")
	}
	return Kind(line[0]), line[1 : len(line)-2], nil
}

func (r *ReplyReader) longLine(line []byte) ([]byte, error) {
	for {
		part, err := r.br.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return nil, err
		}
		if line = append(line, part...); len(line) > r.lim.MaxInline {
			return nil, ProtocolError("reply line is too long")
		}
		if err == nil {
			return line, nil
		}
	}
}

func scalar(kind Kind, line []byte) (Value, error) {
	v := Value{Kind: kind}
	ok := true
	switch kind {
	case SimpleString, SimpleError:
		v.Str = slices.Clone(line)
	case Integer:
		v.Int, ok = parseInt(bytes.TrimPrefix(line, []byte{'+'}))
	case Null:
		ok = len(line) == 0
	case Double:
		v.Double, ok = parseDouble(line)
	case Boolean:
		ok = len(line) == 1 && (line[0] == 't' || line[0] == 'f')
		if ok && line[0] == 't' {
			v.Int = 1
		}
	case BigNumber:
		v.Str, ok = slices.Clone(line), isBigNumber(line)
	default:
		return v, ProtocolError(fmt.Sprintf("unknown reply type '%s'", printable(byte(kind))))
	}
	if !ok {
		return v, ProtocolError(fmt.Sprintf("malformed reply of type '%c'", kind))
	}
	return v, nil
}

func (r *ReplyReader) bulk(kind Kind, line []byte) (Value, error) {
	n, ok := parseInt(line)
	if ok && n == -1 && kind == BulkString {
		return Value{Kind: Null}, nil
	}
	if !ok || n < 0 || n > r.lim.MaxBulk {
		return Value{}, ProtocolError("invalid bulk length")
	}
	if r.left -= n; r.left < 0 {
		return Value{}, r.tooLong()
	}
	body, err := r.body(int(n))
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: kind, Str: body}
	if kind == Verbatim {
		if len(body) < 4 || body[3] != ':' {
			return Value{}, ProtocolError("malformed verbatim string")
		}
		v.Format, v.Str = string(body[:3]), body[4:]
	}
	return v, nil
}

// body reads n bytes and CRLF, allocating as they arrive.
func (r *ReplyReader) body(n int) ([]byte, error) {
	b := make([]byte, 0, min(n, smallArena))
	for len(b) < n {
		start := len(b)
		chunk := min(n-start, max(smallArena, start))
		b = slices.Grow(b, chunk)[:start+chunk]
		if _, err := io.ReadFull(r.br, b[start:]); err != nil {
			return nil, err
		}
	}
	var end [2]byte
	if _, err := io.ReadFull(r.br, end[:]); err != nil {
		return nil, err
	}
	if end != [2]byte{'\r', '\n'} {
		return nil, ProtocolError("expected CRLF after a bulk string")
	}
	return b, nil
}

func (r *ReplyReader) aggregate(kind Kind, line []byte, depth int) (Value, error) {
	n, ok := parseInt(line)
	if ok && n == -1 && kind == Array {
		return Value{Kind: Null}, nil
	}
	if !ok || n < 0 || n > 1<<31-1 {
		return Value{}, ProtocolError("invalid aggregate length")
	}
	if kind == Map || kind == attribute {
		n *= 2
	}
	if n > r.left/elemOverhead {
		return Value{}, r.tooLong()
	}
	elems := make([]Value, 0, min(n, 64))
	for range n {
		e, err := r.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		elems = append(elems, e)
	}
	if kind != attribute {
		return Value{Kind: kind, Elems: elems}, nil
	}
	v, err := r.value(depth + 1)
	v.Attrs = append(elems, v.Attrs...)
	return v, err
}

func (r *ReplyReader) tooLong() error {
	return ProtocolError(fmt.Sprintf("reply is longer than %d bytes", r.lim.MaxReply))
}

func parseDouble(b []byte) (float64, bool) {
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !bytes.ContainsAny(b, "xX_")
}

func isBigNumber(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
