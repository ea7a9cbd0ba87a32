package fsm

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// appendString appends a uvarint length and the bytes.
func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// checkVersion verifies the version byte with which a stored value begins.
func checkVersion(b []byte, version byte, what string) error {
	switch {
	case len(b) == 0:
		return turn.Errorf(turn.Corrupt, "stored %s is empty", what)
	case b[0] > version:
		return turn.Errorf(turn.Newer, "stored %s has version %d, this turnlog reads up to %d", what, b[0], version)
	case b[0] < version:
		return turn.Errorf(turn.Corrupt, "stored %s has the unknown version %d", what, b[0])
	}
	return nil
}

// reader takes numbers and strings off the front of b; bad sticks.
type reader struct {
	b   []byte
	bad bool
}

// newReader returns a reader of what is stored in b.
func newReader(b []byte) reader { return reader{b: b} }

// more reports whether there is something left to read.
func (r *reader) more() bool { return len(r.b) > 0 }

// ok reports whether all that was asked for was there.
func (r *reader) ok() bool { return !r.bad }

// uint reads a number.
func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// zigzag reads a number that may be negative.
func (r *reader) zigzag() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads a number of things that take a byte each at least.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

// bytes reads a length and so many bytes, which are part of what is read.
func (r *reader) bytes() []byte { return r.next(r.count()) }

// next reads n bytes, which are part of what is read.
func (r *reader) next(n int) []byte {
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// text reads a length and so many bytes.
func (r *reader) text() string { return string(r.bytes()) }

// end reports whether all of a stored thing was read, and no more.
func (r *reader) end(what string) error {
	if r.bad || len(r.b) != 0 {
		return turn.Errorf(turn.Corrupt, "stored %s is malformed", what)
	}
	return nil
}
