package layout

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// AppendString appends a uvarint length and the bytes.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// CheckVersion verifies the version byte with which a stored value begins.
func CheckVersion(b []byte, version byte, what string) error {
	switch {
	case len(b) == 0:
		return turn.Errorf(turn.Corrupt, "stored %s is empty", what)
	case b[0] > version:
		return turn.Errorf(turn.Newer, "stored %s has version %d, this turnlog reads up to %d: run the newer turnlog",
			what, b[0], version)
	case b[0] < version:
		return turn.Errorf(turn.Corrupt, "stored %s has the unknown version %d", what, b[0])
	}
	return nil
}

// Reader takes numbers and strings off the front of b; after something malformed it reads
// zeros, which End reports.
type Reader struct {
	b   []byte
	bad bool
}

// NewReader returns a reader of what is stored in b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// More reports whether there is something left to read.
func (r *Reader) More() bool { return len(r.b) > 0 }

// OK reports whether all that was asked for was there.
func (r *Reader) OK() bool { return !r.bad }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// fixed reads a number of eight bytes.
func (r *Reader) fixed() uint64 {
	b := r.Next(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// zigzag reads a number that may be negative.
func (r *Reader) zigzag() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// Count reads a number of things that take a byte each at least.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

// Bytes reads a length and so many bytes, which are part of what is read.
func (r *Reader) Bytes() []byte { return r.Next(r.Count()) }

// Next reads n bytes, which are part of what is read.
func (r *Reader) Next(n int) []byte {
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// Text reads a length and so many bytes.
func (r *Reader) Text() string { return string(r.Bytes()) }

// End reports whether all of a stored thing was read, and no more.
func (r *Reader) End(what string) error {
	if r.bad || len(r.b) != 0 {
		return turn.Errorf(turn.Corrupt, "stored %s is malformed", what)
	}
	return nil
}
