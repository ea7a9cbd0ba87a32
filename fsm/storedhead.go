package fsm

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// plainHead is all that the state holds of a key but for its messages or elements. Its meta
// map is never changed, only replaced.
type plainHead struct {
	inc      uint64 // incarnation: number of the key's value, never given twice
	typ      turn.Type
	created  int64
	updated  int64
	revision uint64
	first    uint64 // seq of the oldest live message, 0 if there is none
	last     uint64 // highest seq given out
	lastID   uint64 // highest seq of a message that carried an id
	moves    moves
	// low, by side: messages of that side with a seq below it are dead. Of a stream, from
	// turn.Level1 on: time and seq of an entry id up to which all entries are dead.
	low [2]uint64
	// high, by side, of lists: messages of that side with a seq above it are dead. Before
	// turn.Level1 it is last.
	high [2]uint64
	// live, by side: number of live messages. Of another type than a list, live[0]
	// is the number of elements, and first and lastID are not used; last is
	// of a stream the number of entries ever added.
	live  [2]uint64
	bytes uint64 // payload bytes of live messages, or of elements with their names

	deadline int64
	slide    int64
	// scheduled is the deadline under which the key is in the due index, 0 if it is
	// not. scheduled ≤ deadline whenever both are set: a deadline that moved later is
	// noticed, and scheduled again, when the old one has passed.
	scheduled int64
	// tombstonesUntil: until that cluster time ids of an earlier incarnation count.
	tombstonesUntil int64

	entry turn.EntryID // highest id given out in a stream

	meta map[string]string
}

const (
	headVersion      = 1
	movesHeadVersion = 3  // with moves, or bounds below last; 2 would be taken for a seal's
	headSize         = 96 // of most, encoded
)

func (h *plainHead) count() uint64 { return h.live[turn.Tail] + h.live[turn.Head] }

// floors returns, by side, a seq below which every message of the side is dead.
func (h *plainHead) floors() [2]uint64 {
	low := h.low
	for s := range low {
		if h.live[s] == 0 {
			low[s] = h.last + 1
		}
	}
	return low
}

// take has the bounds of a side take in a new message, whose seq is above all others.
func (h *plainHead) take(side turn.Side, seq uint64) {
	if h.live[side] == 0 {
		h.low[side] = seq
	}
	h.high[side] = seq
}

// below returns, by side, how far below last the bounds are up to which messages are alive.
// Of a side without any, that says nothing.
func (h *plainHead) below() (n [2]uint64) {
	for side, high := range h.high {
		if h.typ == turn.TypeList && h.live[side] > 0 {
			n[side] = h.last - high
		}
	}
	return n
}

// encode appends the stored form: version, then uvarints in the order below,
// then the metadata as pairs of length-prefixed strings in key order, then, if the version is
// that of heads with some, the moves and, if they say something, how far the bounds are below
// last.
func (h *plainHead) encode(b []byte) []byte {
	at := len(b)
	b = append(b, headVersion)
	for _, v := range [...]uint64{
		h.inc, uint64(h.typ), uint64(h.created), uint64(h.updated), h.revision, h.first, h.last, h.lastID,
		h.low[0], h.low[1], h.live[0], h.live[1], h.bytes,
		uint64(h.deadline), uint64(h.slide), uint64(h.scheduled), uint64(h.tombstonesUntil),
		h.entry.Time, h.entry.Seq, uint64(len(h.meta)),
	} {
		b = binary.AppendUvarint(b, v)
	}
	if len(h.meta) > 0 {
		for _, k := range slices.Sorted(maps.Keys(h.meta)) {
			b = appendString(appendString(b, k), h.meta[k])
		}
	}
	below := h.below()
	if h.moves.total == 0 && below == [2]uint64{} {
		return b
	}
	b[at] = movesHeadVersion
	b = h.moves.append(b)
	if below != [2]uint64{} {
		b = binary.AppendUvarint(binary.AppendUvarint(b, below[0]), below[1])
	}
	return b
}

// decode sets h, which is zero, to what has the stored form b.
func (h *plainHead) decode(b []byte) error {
	moved := len(b) > 0 && b[0] == movesHeadVersion
	if err := checkVersion(b, headVersion, "session"); err != nil && !moved {
		return err
	}
	r := newReader(b[1:])
	*h = plainHead{
		inc: r.uint(), typ: turn.Type(r.uint()), created: int64(r.uint()), updated: int64(r.uint()), revision: r.uint(),
		first: r.uint(), last: r.uint(), lastID: r.uint(),
		low: [2]uint64{r.uint(), r.uint()}, live: [2]uint64{r.uint(), r.uint()}, bytes: r.uint(),
		deadline: int64(r.uint()), slide: int64(r.uint()), scheduled: int64(r.uint()), tombstonesUntil: int64(r.uint()),
		entry: turn.EntryID{Time: r.uint(), Seq: r.uint()},
	}
	if n := r.count(); n > 0 {
		h.meta = make(map[string]string, n)
		for range n {
			k := r.text()
			h.meta[k] = r.text()
		}
	}
	if h.high = [2]uint64{h.last, h.last}; moved {
		h.moves = r.moves()
		if r.more() {
			h.high[0] -= min(r.uint(), h.last)
			h.high[1] -= min(r.uint(), h.last)
		}
	}
	return r.end("session")
}

// describe returns the session or value as callers see it.
func (h *plainHead) describe(key turn.Key) *turn.Session {
	return &turn.Session{
		Key: key, Type: h.typ, Incarnation: h.inc, Count: h.count(), Bytes: h.bytes, First: h.first, Last: h.last,
		Revision: h.revision, Created: h.created, Updated: h.updated, Deadline: h.deadline, Slide: h.slide, Meta: h.meta,
		LastEntry: h.entry,
	}
}

// expired reports whether the key no longer exists at cluster time now,
// whether or not that has been acted upon.
func (h *plainHead) expired(now int64) bool { return h.deadline != 0 && h.deadline <= now }
