package fsm

import (
	"encoding/binary"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// joinKey is a session's key in memtables and store: namespace, NUL, name. A
// namespace has no NUL, so order by joined key is order by namespace, then name.
func joinKey(k turn.Key) string { return k.Namespace + "\x00" + k.Name }

func splitKey(s string) turn.Key {
	ns, name, _ := strings.Cut(s, "\x00")
	return turn.Key{Namespace: ns, Name: name}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

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

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
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

func (r *reader) bytes() []byte {
	n := r.count()
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes()) }

// end reports whether all of a stored thing was read, and no more.
func (r *reader) end(what string) error {
	if r.bad || len(r.b) != 0 {
		return turn.Errorf(turn.Corrupt, "stored %s is malformed", what)
	}
	return nil
}
