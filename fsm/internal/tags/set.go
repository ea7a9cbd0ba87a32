// Package tags has a command that a node sends again, because it does not know the outcome,
// take effect once (Ongaro, Consensus: Bridging Theory and Practice, section 6.3, with the
// node in the place of the client). Answers are not kept: the node applies the log itself and
// so sees the first answer.
package tags

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

const (
	// Window is how many numbers of an origin are told apart.
	Window     = 1 << 16
	maxOrigins = 256 // origins remembered; the least recently used one goes first
)

// Set is, by origin, the numbers applied recently. It is for one goroutine at a time.
type Set map[uint64]*numbers

type numbers struct {
	max    uint64
	used   uint64 // log index of the last use
	shared bool   // with a copy that was handed out: not to be changed
	bits   [Window / 64]uint64
}

// Share returns a copy that does not change. What it costs does not depend on what it
// holds: each origin's numbers are copied when the next one is taken.
func (t Set) Share() Set {
	for _, n := range t {
		n.shared = true
	}
	return maps.Clone(t)
}

// Take reports whether the command is new, and remembers it. An origin's number
// that is too old to tell counts as known.
func (t Set) Take(origin, number, index uint64) bool {
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

func (t Set) evict() {
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
		if number-n.max >= Window {
			clear(n.bits[:])
		} else {
			for i := n.max + 1; i < number; i++ {
				n.bits[i%Window/64] &^= 1 << (i % 64)
			}
		}
		n.max = number
	} else if n.max-number >= Window || n.has(number) {
		return false
	}
	n.bits[number%Window/64] |= 1 << (number % 64)
	return true
}

func (n *numbers) has(number uint64) bool {
	return n.bits[number%Window/64]&(1<<(number%64)) != 0
}

// Encode writes, for each origin in order: origin, used, max, and the numbers
// of its window that were not taken, which are few. One format version up front.
func (t Set) Encode() []byte {
	b := []byte{tagsVersion}
	b = binary.AppendUvarint(b, uint64(len(t)))
	for _, o := range slices.Sorted(maps.Keys(t)) {
		n := t[o]
		for _, v := range [...]uint64{o, n.used, n.max} {
			b = binary.AppendUvarint(b, v)
		}
		var gaps []uint64
		for i := n.low(); i <= n.max; i++ {
			if i%64 == 0 && i+63 <= n.max && ^n.bits[i%Window/64] == 0 {
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
	if n.max < Window {
		return 0
	}
	return n.max - Window + 1
}

func Decode(b []byte) (Set, error) {
	if err := layout.CheckVersion(b, tagsVersion, "tag window"); err != nil {
		return nil, err
	}
	r := layout.NewReader(b[1:])
	t := make(Set)
	for range r.Count() {
		o, n := r.Uint(), new(numbers)
		n.used, n.max = r.Uint(), r.Uint()
		for i := n.low(); i <= n.max; i++ {
			n.bits[i%Window/64] |= 1 << (i % 64)
		}
		for range r.Count() {
			i := n.max - r.Uint()
			n.bits[i%Window/64] &^= 1 << (i % 64)
		}
		t[o] = n
	}
	return t, r.End("tag window")
}
