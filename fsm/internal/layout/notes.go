package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// Notes are what a message tells of the replace that brought it, by which that is known when it is sent again, and by
// which the ids that it gave again still lead to the messages that had them. They never change.
type Notes struct {
	// Origin is the message that had the id first, of those that were remembered; zero: this one.
	Origin Place
	// Call is the replace, told by the last of its messages with an id; nil: by others.
	Call *Call
}

// NotesCost is what notes take in memory, rounded up.
const NotesCost = 80

// Place is that of a message for good. In notes, Inc is 0 if it is the message's own.
type Place struct{ Inc, Seq uint64 }

// Next is the place behind it.
func (p Place) Next() Place { return Place{p.Inc, p.Seq + 1} }

// Origin returns the message that had the id of a record first, as far as it tells: inc is the record's incarnation.
func (r *Record) Origin(inc uint64) Place {
	if r.Notes == nil || r.Notes.Origin == (Place{}) {
		return Place{inc, r.Seq}
	}
	at := r.Notes.Origin
	if at.Inc == 0 {
		at.Inc = inc
	}
	return at
}

// Call is a replace that brought messages, one at least with an id.
type Call struct {
	Digest [DigestSize]byte // of what it brought, as CallDigest returns it
	// Before and After are how many messages it brought before the one that tells of it, and behind.
	Before, After uint64
}

// CallDigest tells calls apart by the ids and the payloads of what they bring, in their order.
func CallDigest(ms []turn.NewMessage) (d [DigestSize]byte) {
	h := sha256.New()
	var b []byte
	for i := range ms {
		b = binary.AppendUvarint(b[:0], uint64(len(ms[i].ID)))
		b = append(b, ms[i].ID...)
		b = binary.AppendUvarint(b, uint64(len(ms[i].Data)))
		h.Write(b)
		h.Write(ms[i].Data)
	}
	copy(d[:], h.Sum(nil))
	return d
}

// Notes are stored as
//
//	1 byte: bit 0 has an origin, bit 1 has a call
//	origin: uvarint incarnation (0: the block's), uvarint seq
//	call:   16 bytes digest, uvarint messages before, uvarint messages behind
const (
	noteOrigin = 1 << 0
	noteCall   = 1 << 1
)

// Append appends the stored form.
func (n *Notes) Append(b []byte) []byte {
	at := len(b)
	b = append(b, 0)
	if n.Origin != (Place{}) {
		b[at] |= noteOrigin
		b = binary.AppendUvarint(binary.AppendUvarint(b, n.Origin.Inc), n.Origin.Seq)
	}
	if n.Call != nil {
		b[at] |= noteCall
		b = append(b, n.Call.Digest[:]...)
		b = binary.AppendUvarint(binary.AppendUvarint(b, n.Call.Before), n.Call.After)
	}
	return b
}

// decodeNotes reads the notes at the beginning of data, and returns what is behind them.
func decodeNotes(data []byte) (*Notes, []byte, error) {
	r := Reader{b: data}
	var kinds byte
	if b := r.Next(1); b != nil {
		kinds = b[0]
	}
	if kinds&^(noteOrigin|noteCall) != 0 {
		return nil, nil, turn.Errorf(turn.Newer, "stored block has a message with notes %#x, of which this turnlog "+
			"knows %#x: run the newer turnlog", kinds, noteOrigin|noteCall)
	}
	n := &Notes{}
	if kinds&noteOrigin != 0 {
		n.Origin = Place{r.Uint(), r.Uint()}
	}
	if kinds&noteCall != 0 {
		n.Call = &Call{}
		copy(n.Call.Digest[:], r.Next(DigestSize))
		n.Call.Before, n.Call.After = r.Uint(), r.Uint()
	}
	if r.bad {
		return nil, nil, turn.Errorf(turn.Corrupt, "stored block has a message with malformed notes")
	}
	return n, r.b, nil
}
