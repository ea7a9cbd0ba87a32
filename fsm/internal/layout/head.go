package layout

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// Head is all that the state holds of a key but for its messages or elements. Its Meta
// map is never changed, only replaced. Times are Unix milliseconds of cluster time.
type Head struct {
	Inc      uint64 // incarnation: number of the key's value, never given twice
	Type     turn.Type
	Created  int64
	Updated  int64
	Revision uint64
	First    uint64 // seq of the oldest live message, 0 if there is none
	Last     uint64 // highest seq given out
	LastID   uint64 // highest seq of a message that carried an id
	Moves    Moves
	// Low, by side: messages of that side with a seq below it are dead. Of a stream: time
	// and seq of an entry id up to which all entries are dead.
	Low [2]uint64
	// High, by side, of lists: messages of that side with a seq above it are dead.
	High [2]uint64
	// Live, by side: number of live messages. Of another type than a list, Live[0]
	// is the number of elements, and First and LastID are not used; Last is
	// of a stream the number of entries ever added.
	Live  [2]uint64
	Bytes uint64 // payload bytes of live messages, or of elements with their names

	Deadline int64
	Slide    int64
	// Scheduled is the deadline under which the key is in the due index, 0 if it is
	// not. Scheduled ≤ Deadline whenever both are set: a deadline that moved later is
	// noticed, and scheduled again, when the old one has passed.
	Scheduled int64
	// TombstonesUntil: until that cluster time ids of an earlier incarnation count.
	TombstonesUntil int64

	Entry turn.EntryID // highest id given out in a stream

	Meta map[string]string
	// Labelled: the index of labels has the session at Revision, under each label that is in Meta.
	Labelled bool

	// Retention is the length that the session keeps by itself; if that is in turns, Turns are the seqs at
	// which the last of them begin, at most so many. The slice is only appended to, or replaced.
	Retention turn.Retention
	Turns     []uint64

	// Open are the calls that wait for their results, of the last turn.ToolReach messages. The slice is only
	// replaced.
	Open []OpenCall
	// Dropped are the seqs, as they were appended, of what the session's retention dropped, as far as ids are
	// remembered; at most MaxDropped ranges. Only replaced.
	Dropped Spans
}

// OpenCall is a call whose result has not come.
type OpenCall struct {
	Seq uint64 // of the message that calls
	// ID is the call's, as toolcalls.IDs has it. 0: it is not known which calls wait, in messages up to Seq.
	ID uint64
}

const (
	// MaxOpen bounds the calls that a head has by their ids.
	MaxOpen = 128
	// MaxDropped bounds the ranges of Head.Dropped: what is between the oldest ones counts as dropped, too.
	MaxDropped = 64
)

const (
	headVersion = 1

	// The stored flags: Labelled; a Retention and Turns follow; Open calls follow; what was Dropped follows.
	flagLabelled  = 1
	flagRetention = 2
	flagOpen      = 4
	flagDropped   = 8
	knownHead     = flagLabelled | flagRetention | flagOpen | flagDropped

	// HeadSize is how many bytes the stored form of most heads takes.
	HeadSize = 96
)

// Count returns the number of live messages, or of elements.
func (h *Head) Count() uint64 { return h.Live[turn.Tail] + h.Live[turn.Head] }

// Floors returns, by side, a seq below which every message of the side is dead.
func (h *Head) Floors() [2]uint64 {
	low := h.Low
	for s := range low {
		if h.Live[s] == 0 {
			low[s] = h.Last + 1
		}
	}
	return low
}

// Take has the bounds of a side take in a new message, whose seq is above all others.
func (h *Head) Take(side turn.Side, seq uint64) {
	if h.Live[side] == 0 {
		h.Low[side] = seq
	}
	h.High[side] = seq
}

// below returns, by side, how far below Last the bounds are up to which messages are alive.
// Of a side without any, that says nothing.
func (h *Head) below() (n [2]uint64) {
	for side, high := range h.High {
		if h.Type == turn.TypeList && h.Live[side] > 0 {
			n[side] = h.Last - high
		}
	}
	return n
}

// Append appends the stored form: version, then uvarints in the order below,
// then the metadata as pairs of length-prefixed strings in key order. If there are moves, or
// bounds below Last, or flags, the moves follow; then, if there are such bounds or flags, how far below it
// the bounds are; then, if there are any, the flags; then, as they say, the retention: messages, turns, and
// of the turns their number and for each its distance from the one before; the open calls: their number, and for
// each how far it is below Last, and eight bytes of id, little endian; the spans that were dropped.
func (h *Head) Append(b []byte) []byte {
	b = append(b, headVersion)
	for _, v := range [...]uint64{
		h.Inc, uint64(h.Type), uint64(h.Created), uint64(h.Updated), h.Revision, h.First, h.Last, h.LastID,
		h.Low[0], h.Low[1], h.Live[0], h.Live[1], h.Bytes,
		uint64(h.Deadline), uint64(h.Slide), uint64(h.Scheduled), uint64(h.TombstonesUntil),
		h.Entry.Time, h.Entry.Seq, uint64(len(h.Meta)),
	} {
		b = binary.AppendUvarint(b, v)
	}
	if len(h.Meta) > 0 {
		for _, k := range slices.Sorted(maps.Keys(h.Meta)) {
			b = AppendString(AppendString(b, k), h.Meta[k])
		}
	}
	below := h.below()
	flags := h.flags()
	if h.Moves.Total == 0 && below == [2]uint64{} && flags == 0 {
		return b
	}
	b = h.Moves.Append(b)
	if below != [2]uint64{} || flags != 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, below[0]), below[1])
	}
	if flags != 0 {
		b = binary.AppendUvarint(b, flags)
	}
	if flags&flagRetention != 0 {
		b = h.appendRetention(b)
	}
	if flags&flagOpen != 0 {
		b = h.appendOpen(b)
	}
	if flags&flagDropped != 0 {
		b = h.Dropped.Append(b)
	}
	return b
}

func (h *Head) flags() (flags uint64) {
	if h.Labelled {
		flags |= flagLabelled
	}
	if h.Retention != (turn.Retention{}) {
		flags |= flagRetention
	}
	if len(h.Open) > 0 {
		flags |= flagOpen
	}
	if len(h.Dropped) > 0 {
		flags |= flagDropped
	}
	return flags
}

func (h *Head) appendRetention(b []byte) []byte {
	for _, v := range [...]uint64{h.Retention.Messages, h.Retention.Turns, uint64(len(h.Turns))} {
		b = binary.AppendUvarint(b, v)
	}
	before := uint64(0)
	for _, seq := range h.Turns {
		b = binary.AppendUvarint(b, seq-before)
		before = seq
	}
	return b
}

// retention reads what appendRetention appended.
func (h *Head) retention(r *Reader) {
	h.Retention = turn.Retention{Messages: r.Uint(), Turns: r.Uint()}
	seq := uint64(0)
	for range r.Count() {
		seq += r.Uint()
		h.Turns = append(h.Turns, seq)
	}
}

func (h *Head) appendOpen(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(h.Open)))
	for _, c := range h.Open {
		b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, h.Last-c.Seq), c.ID)
	}
	return b
}

// open reads what appendOpen appended.
func (h *Head) open(r *Reader) {
	for range r.Count() {
		h.Open = append(h.Open, OpenCall{Seq: h.Last - r.Uint(), ID: r.fixed()})
	}
}

// Decode sets h to the head with the stored form b.
func (h *Head) Decode(b []byte) error { return h.decode(b, true) }

// decode is Decode, with the metadata or without.
func (h *Head) decode(b []byte, metadata bool) error {
	if err := CheckVersion(b, headVersion, "session"); err != nil {
		return err
	}
	r := NewReader(b[1:])
	*h = Head{
		Inc: r.Uint(), Type: turn.Type(r.Uint()), Created: int64(r.Uint()), Updated: int64(r.Uint()),
		Revision: r.Uint(),
		First:    r.Uint(), Last: r.Uint(), LastID: r.Uint(),
		Low: [2]uint64{r.Uint(), r.Uint()}, Live: [2]uint64{r.Uint(), r.Uint()}, Bytes: r.Uint(),
		Deadline: int64(r.Uint()), Slide: int64(r.Uint()), Scheduled: int64(r.Uint()), TombstonesUntil: int64(r.Uint()),
		Entry: turn.EntryID{Time: r.Uint(), Seq: r.Uint()},
	}
	if n := r.Count(); n > 0 && !metadata {
		for range 2 * n {
			r.Bytes()
		}
	} else if n > 0 {
		h.Meta = make(map[string]string, n)
		for range n {
			k := r.Text()
			h.Meta[k] = r.Text()
		}
	}
	if h.High = [2]uint64{h.Last, h.Last}; r.More() {
		h.Moves = r.Moves()
		if r.More() {
			h.High[0] -= min(r.Uint(), h.Last)
			h.High[1] -= min(r.Uint(), h.Last)
		}
		if r.More() {
			flags := r.Uint()
			if flags > knownHead {
				return turn.Errorf(turn.Newer, "session has the unknown flags %d", flags)
			}
			if h.Labelled = flags&flagLabelled != 0; flags&flagRetention != 0 {
				h.retention(&r)
			}
			if flags&flagOpen != 0 {
				h.open(&r)
			}
			if flags&flagDropped != 0 {
				h.Dropped = r.Spans()
			}
		}
	}
	return r.End("session")
}

// Describe returns the session or value as callers see it.
func (h *Head) Describe(key turn.Key) *turn.Session {
	return &turn.Session{
		Key: key, Type: h.Type, Incarnation: h.Inc, Count: h.Count(), Bytes: h.Bytes, First: h.First, Last: h.Last,
		Revision: h.Revision, Created: h.Created, Updated: h.Updated, ExpiresAt: h.Deadline, Slide: h.Slide,
		Metadata:  h.Meta,
		LastEntry: h.Entry, Retention: h.Retention,
	}
}

// Expired reports whether the key no longer exists at cluster time now,
// whether or not that has been acted upon.
func (h *Head) Expired(now int64) bool { return h.Deadline != 0 && h.Deadline <= now }
