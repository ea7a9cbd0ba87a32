package fsm

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// Tag windows make a command that a node sends again, because it does not know
// what became of it, take effect once (Ongaro, Consensus: Bridging Theory and
// Practice, section 6.3, with the node in the place of the client). Answers are
// not kept: the node applies the log itself and so sees the first answer.
const (
	tagWindow  = 1 << 16 // numbers of an origin that are told apart
	maxOrigins = 256     // origins remembered; the least recently used one goes first
)

// tags is, by origin, the numbers applied recently.
type tags map[uint64]*numbers

type numbers struct {
	max    uint64
	used   uint64 // log index of the last use
	shared bool   // with a copy that was handed out: not to be changed
	bits   [tagWindow / 64]uint64
}

// share returns a copy that does not change. What it costs does not depend on what it
// holds: each origin's numbers are copied when the next one is taken.
func (t tags) share() tags {
	for _, n := range t {
		n.shared = true
	}
	return maps.Clone(t)
}

// take reports whether the command is new, and remembers it. An origin's number
// that is too old to tell counts as known.
func (t tags) take(origin, number, index uint64) bool {
	n := t[origin]
	if n == nil {
		if len(t) >= maxOrigins {
			t.evict()
		}
		n = new(numbers)
		t[origin] = n
	}
	if n.shared {
		own := *n
		n, own.shared = &own, false
		t[origin] = n
	}
	n.used = index
	return n.take(number)
}

func (t tags) evict() {
	var oldest uint64
	for _, o := range slices.Sorted(maps.Keys(t)) {
		if oldest == 0 || t[o].used < t[oldest].used {
			oldest = o
		}
	}
	delete(t, oldest)
}

func (n *numbers) take(number uint64) bool {
	if number > n.max {
		if number-n.max >= tagWindow {
			clear(n.bits[:])
		} else {
			for i := n.max + 1; i < number; i++ {
				n.bits[i%tagWindow/64] &^= 1 << (i % 64)
			}
		}
		n.max = number
	} else if n.max-number >= tagWindow || n.has(number) {
		return false
	}
	n.bits[number%tagWindow/64] |= 1 << (number % 64)
	return true
}

func (n *numbers) has(number uint64) bool {
	return n.bits[number%tagWindow/64]&(1<<(number%64)) != 0
}

// encode writes, for each origin in order: origin, used, max, and the numbers
// of its window that were not taken, which are few. One format version up front.
func (t tags) encode() []byte {
	b := []byte{tagsVersion}
	b = binary.AppendUvarint(b, uint64(len(t)))
	for _, o := range slices.Sorted(maps.Keys(t)) {
		n := t[o]
		for _, v := range [...]uint64{o, n.used, n.max} {
			b = binary.AppendUvarint(b, v)
		}
		var gaps []uint64
		for i := n.low(); i <= n.max; i++ {
			if i%64 == 0 && i+63 <= n.max && ^n.bits[i%tagWindow/64] == 0 {
				i += 63 // most are like that
			} else if !n.has(i) {
				gaps = append(gaps, n.max-i)
			}
		}
		b = binary.AppendUvarint(b, uint64(len(gaps)))
		for _, g := range gaps {
			b = binary.AppendUvarint(b, g)
		}
	}
	return b
}

const tagsVersion = 1

// low is the lowest number that the window tells apart.
func (n *numbers) low() uint64 {
	if n.max < tagWindow {
		return 0
	}
	return n.max - tagWindow + 1
}

func decodeTags(b []byte) (tags, error) {
	if err := layout.CheckVersion(b, tagsVersion, "tag window"); err != nil {
		return nil, err
	}
	r := layout.NewReader(b[1:])
	t := make(tags)
	for range r.Count() {
		o, n := r.Uint(), new(numbers)
		n.used, n.max = r.Uint(), r.Uint()
		for i := n.low(); i <= n.max; i++ {
			n.bits[i%tagWindow/64] |= 1 << (i % 64)
		}
		for range r.Count() {
			i := n.max - r.Uint()
			n.bits[i%tagWindow/64] &^= 1 << (i % 64)
		}
		t[o] = n
	}
	return t, r.End("tag window")
}
