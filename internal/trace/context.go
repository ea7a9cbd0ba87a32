package trace

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
)

// Context is which span of which trace something is part of, as the W3C's Trace Context says it. The zero Context is
// none.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // its parts are to be recorded
}

// Valid reports whether c names a span.
func (c Context) Valid() bool { return c.Trace != [16]byte{} && c.Span != [8]byte{} }

// TraceID returns the trace's id in hexadecimal.
func (c Context) TraceID() string { return hex.EncodeToString(c.Trace[:]) }

// Parse parses a traceparent; ok is false if it is malformed. Versions after 00 may have more at their end.
func Parse(parent string) (c Context, ok bool) {
	const length = len("00-") + 32 + len("-") + 16 + len("-01")
	if len(parent) < length || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || !lowerHex(parent[:2]) ||
		!lowerHex(parent[3:35]) || !lowerHex(parent[36:52]) || !lowerHex(parent[53:55]) {
		return Context{}, false
	}
	version, rest := parent[:2], parent[length:]
	if version == "ff" || version == "00" && rest != "" || rest != "" && rest[0] != '-' {
		return Context{}, false
	}
	var flags [1]byte
	_, err1 := hex.Decode(c.Trace[:], []byte(parent[3:35]))
	_, err2 := hex.Decode(c.Span[:], []byte(parent[36:52]))
	_, err3 := hex.Decode(flags[:], []byte(parent[53:55]))
	c.Sampled = flags[0]&1 != 0
	if errors.Join(err1, err2, err3) != nil || !c.Valid() {
		return Context{}, false
	}
	return c, true
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// EncodedLen is the length of what Append appends.
const EncodedLen = 16 + 8 + 1

// Append appends c to b as nodes send it to each other: trace id, span id, and a byte of flags, 1 if c is sampled.
func (c Context) Append(b []byte) []byte {
	b = append(append(b, c.Trace[:]...), c.Span[:]...)
	if c.Sampled {
		return append(b, 1)
	}
	return append(b, 0)
}

// Decode returns the Context that b, of EncodedLen bytes, encodes. Flags that it does not know mean nothing.
func Decode(b []byte) (c Context) {
	copy(c.Trace[:], b)
	copy(c.Span[:], b[16:])
	c.Sampled = b[24]&1 != 0
	return c
}

func newSpanID() (id [8]byte) {
	binary.LittleEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
