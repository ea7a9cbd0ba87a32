package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// Notes are what a message tells of the replace that brought it, by which that is known when it is sent again, and by
// which the ids that it gave again still lead to the messages that had them. They never change.
type Notes struct {
	// First is the seq of the message that had the id first in the incarnation, of those that were remembered; 0: this
	// one.
	First uint64
	// Deleted: the id was known from a session that was deleted under the key.
	Deleted bool
	// Call is the replace, told by the last of its messages with an id; nil: by others.
	Call *Call
}

// NotesCost is what notes take in memory; in a block it is less.
const NotesCost = 80

// Place is that of a message for good.
type Place struct{ Inc, Seq uint64 }

// Next is the place behind it.
func (p Place) Next() Place { return Place{p.Inc, p.Seq + 1} }

// First returns the seq of the message that had the id of a record first in its incarnation, as far as it tells.
func (r *Record) First() uint64 {
	if r.Notes == nil || r.Notes.First == 0 {
		return r.Seq
	}
	return r.Notes.First
}

// AlsoDeleted reports whether the id of a record was known from a deleted session when the record came.
func (r *Record) AlsoDeleted() bool { return r.Notes != nil && r.Notes.Deleted }

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
//	1 byte: bit 0 has a first, bit 1 Deleted, bit 2 has a call
//	first: uvarint seq
//	call:  16 bytes digest, uvarint messages before, uvarint messages behind
const (
	noteFirst   = 1 << 0
	noteDeleted = 1 << 1
	noteCall    = 1 << 2

	knownNotes = noteFirst | noteDeleted | noteCall
)

// Append appends the stored form.
func (n *Notes) Append(b []byte) []byte {
	at := len(b)
	b = append(b, 0)
	if n.First != 0 {
		b[at] |= noteFirst
		b = binary.AppendUvarint(b, n.First)
	}
	if n.Deleted {
		b[at] |= noteDeleted
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
	if kinds&^knownNotes != 0 {
		return nil, nil, turn.Errorf(turn.Newer, "stored block has a message with notes %#x, of which this turnlog "+
			"knows %#x: run the newer turnlog", kinds, knownNotes)
	}
	n := &Notes{Deleted: kinds&noteDeleted != 0}
	if kinds&noteFirst != 0 {
		n.First = r.Uint()
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
