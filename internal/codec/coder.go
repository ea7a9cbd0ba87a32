package codec

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/turnlog/turnlog/turn"
)

// fielder is a value that lists its fields to a coder, in wire order.
type fielder interface {
	fields(*coder)
}

// mode is what a coder does with the fields that it is shown.
type mode uint8

const (
	counting mode = iota
	encoding
	decoding
)

// coder carries fields to or from msgpack. Its first error sticks; after it
// every call is a no-op.
type coder struct {
	mode mode
	err  error
	// left is the number of fields counted, or still unread in this array.
	left int
	// level is what a cluster needs to understand what was coded so far.
	level turn.ClusterLevel

	out bytes.Buffer
	enc *msgpack.Encoder

	// Decoding does not copy payloads: they are slices of src. The decoder
	// reads through in, whose position tells where in src it is.
	src []byte
	in  bytes.Reader
	dec *msgpack.Decoder
}

var coders = sync.Pool{New: func() any {
	c := new(coder)
	c.enc = msgpack.NewEncoder(&c.out)
	c.dec = msgpack.NewDecoder(&c.in)
	return c
}}

// encode returns prefix followed by f as one array.
func encode(prefix []byte, f fielder) ([]byte, error) {
	b, _, err := encodeLevel(prefix, f)
	return b, err
}

// encodeLevel is encode, and returns the level that f needs.
func encodeLevel(prefix []byte, f fielder) ([]byte, turn.ClusterLevel, error) {
	c := coders.Get().(*coder)
	defer coders.Put(c)
	c.err, c.level = nil, turn.Level0
	c.out.Reset()
	c.out.Write(prefix)
	c.nested(encoding, f)
	if c.err != nil {
		return nil, 0, c.err
	}
	return bytes.Clone(c.out.Bytes()), c.level, nil
}

// decode reads b, which must be exactly one array, into f. Payloads of f share
// memory with b.
func decode(b []byte, f fielder) error {
	_, err := decodeLevel(b, f)
	return err
}

// decodeLevel is decode, and returns the level that f needs.
func decodeLevel(b []byte, f fielder) (turn.ClusterLevel, error) {
	c := coders.Get().(*coder)
	defer c.release()
	c.start(b)
	c.nested(decoding, f)
	if c.err == nil && c.in.Len() != 0 {
		c.err = errors.New("trailing bytes")
	}
	return c.level, c.failure()
}

func (c *coder) start(b []byte) {
	c.err, c.level = nil, turn.Level0
	c.src = b
	c.in.Reset(b)
	c.dec.Reset(&c.in)
	// Announced lengths are checked against the bytes at hand (see length), so
	// the library's own cautious growth is not needed.
	c.dec.DisableAllocLimit(true)
}

func (c *coder) release() {
	c.src = nil
	c.in.Reset(nil)
	coders.Put(c)
}

// failure returns the error of a decode as a *turn.Error.
func (c *coder) failure() error {
	var known *turn.Error
	switch {
	case c.err == nil:
		return nil
	case errors.As(c.err, &known):
		return known
	case errors.Is(c.err, io.EOF), errors.Is(c.err, io.ErrUnexpectedEOF):
		return turn.Errorf(turn.Corrupt, "record ends early")
	}
	return turn.Errorf(turn.Corrupt, "record is malformed: %v", c.err)
}

// nested codes f as an array of its own.
func (c *coder) nested(m mode, f fielder) {
	if c.err != nil {
		return
	}
	outer, outerMode := c.left, c.mode
	switch m {
	case encoding:
		c.mode, c.left = counting, 0
		f.fields(c)
		c.err = c.enc.EncodeArrayLen(c.left)
		c.mode = encoding
		f.fields(c)
	case decoding:
		c.mode = decoding
		c.left = c.length(c.dec.DecodeArrayLen())
		f.fields(c)
		if c.err == nil && c.left > 0 {
			c.err = turn.Errorf(turn.Newer, "record has %d fields that this version does not know", c.left)
		}
	}
	c.left, c.mode = outer, outerMode
}

// field reports whether the caller is to code a field now, in either direction.
func (c *coder) field() bool {
	if c.err != nil {
		return false
	}
	switch c.mode {
	case counting:
		c.left++
		return false
	case decoding:
		if c.left == 0 {
			return false
		}
		c.left--
	}
	return true
}

// length checks an announced number of elements or bytes: each takes at least
// one byte, so it cannot exceed what is left. -1 (nil) counts as 0.
func (c *coder) length(n int, err error) int {
	if err != nil {
		c.err = err
		return 0
	}
	if n > c.in.Len() {
		c.err = io.ErrUnexpectedEOF
		return 0
	}
	return max(n, 0)
}

func (c *coder) uint64(v *uint64) {
	if !c.field() {
		return
	}
	if c.mode == encoding {
		c.err = c.enc.EncodeUint(*v)
		return
	}
	*v, c.err = c.dec.DecodeUint64()
}

func (c *coder) int64(v *int64) {
	if !c.field() {
		return
	}
	if c.mode == encoding {
		c.err = c.enc.EncodeInt(*v)
		return
	}
	*v, c.err = c.dec.DecodeInt64()
}

func (c *coder) int(v *int) {
	n := int64(*v)
	c.int64(&n)
	*v = int(n)
}

// float64 codes the bits, so that every value comes back the same.
func (c *coder) float64(v *float64) {
	bits := math.Float64bits(*v)
	c.uint64(&bits)
	*v = math.Float64frombits(bits)
}

func (c *coder) bool(v *bool) {
	if !c.field() {
		return
	}
	if c.mode == encoding {
		c.err = c.enc.EncodeBool(*v)
		return
	}
	*v, c.err = c.dec.DecodeBool()
}

func (c *coder) string(v *string) {
	if !c.field() {
		return
	}
	if c.mode == encoding {
		c.err = c.enc.EncodeString(*v)
		return
	}
	*v = string(c.take())
}

func (c *coder) bytes(v *[]byte) {
	if !c.field() {
		return
	}
	if c.mode == encoding {
		if err := c.enc.EncodeBytesLen(len(*v)); err != nil {
			c.err = err
			return
		}
		c.out.Write(*v)
		return
	}
	*v = c.take()
}

// take returns the bytes of a string or binary value without copying them.
func (c *coder) take() []byte {
	n := c.length(c.dec.DecodeBytesLen())
	if c.err != nil || n == 0 {
		return nil
	}
	at := len(c.src) - c.in.Len()
	if _, err := c.in.Seek(int64(n), io.SeekCurrent); err != nil {
		c.err = err
		return nil
	}
	return c.src[at : at+n : at+n]
}

// enum codes a small number whose values rise from 0 to last.
func enum[T ~uint8](c *coder, v *T, last T) {
	n := uint64(*v)
	c.uint64(&n)
	if c.err == nil && n > uint64(last) {
		c.err = turn.Errorf(turn.Newer, "record has the unknown choice %d", n)
	}
	*v = T(n)
}

// endless is more fields than any record has.
const endless = 1 << 59

// listStep is how many elements of a list get memory at first.
const listStep = 1024

// list codes a slice whose elements are coded by each.
func list[T any](c *coder, v *[]T, each func(*T)) {
	if !c.field() {
		return
	}
	n := len(*v)
	if c.mode == encoding {
		c.err = c.enc.EncodeArrayLen(n)
	} else {
		n = c.length(c.dec.DecodeArrayLen())
		*v = nil
	}
	outer := c.left
	c.left = 2 * endless // the elements are not fields of the array around them
	for i := 0; i < n && c.err == nil; i++ {
		if i == len(*v) { // more memory only for what has come, not for what is announced
			*v = append(*v, make([]T, min(n-i, max(i, listStep)))...)
		}
		each(&(*v)[i])
	}
	c.left = outer
}

// optional codes a pointer: an array of no or one element.
func optional[T any](c *coder, v **T, each func(*T)) {
	var s []T
	if *v != nil {
		s = []T{**v}
	}
	list(c, &s, each)
	if c.mode == decoding && len(s) > 0 {
		*v = &s[0]
	}
}

// stringMap codes a map as a list of pairs in key order, so that equal maps
// have equal bytes.
func (c *coder) stringMap(v *map[string]string) {
	type pair struct{ k, v string }
	var pairs []pair
	for _, k := range slices.Sorted(maps.Keys(*v)) {
		pairs = append(pairs, pair{k, (*v)[k]})
	}
	list(c, &pairs, func(p *pair) {
		c.string(&p.k)
		c.string(&p.v)
	})
	if c.mode != decoding || len(pairs) == 0 {
		return
	}
	*v = make(map[string]string, len(pairs))
	for _, p := range pairs {
		(*v)[p.k] = p.v
	}
}
