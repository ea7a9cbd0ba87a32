package layout

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// Tombstone remembers a deleted session for the sake of its ids.
type Tombstone struct {
	Inc      uint64
	Last     uint64
	Deadline int64
	Moves    Moves
	Renamed  Renamed
}

// Renamed says under which key a session's messages went on. The zero value is none.
type Renamed struct {
	To  string // its name, in the same namespace
	Inc uint64 // of the session there, which is above that of the former one
}

// DecodeTombstone decodes a tombstone as the store has it.
func DecodeTombstone(k, stored []byte) (Tombstone, error) {
	v, err := Dumped(BucketTombstones, k, stored)
	if err != nil {
		return Tombstone{}, err
	}
	return parseTombstone(k, v)
}

// parseTombstone is the reverse of Encode.
func parseTombstone(k, v []byte) (Tombstone, error) {
	if len(k) < 9 {
		return Tombstone{}, turn.Errorf(turn.Corrupt, "stored tombstone has a short key")
	}
	inc, _ := SplitBlockKey(append(append([]byte{}, k[len(k)-8:]...), make([]byte, 8)...))
	r := NewReader(v)
	g := Tombstone{Inc: inc, Last: r.Uint(), Deadline: int64(r.Uint())}
	if r.More() {
		g.Moves = r.Moves()
	}
	if r.More() {
		g.Renamed.Inc = g.Inc + r.Uint()
		g.Renamed.To = r.Text()
	}
	return g, r.End("tombstone")
}

// Encode returns the stored form, without its seal.
func (g Tombstone) Encode() []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, g.Last), uint64(g.Deadline))
	if g.Moves.Total > 0 || g.Renamed.Inc > 0 {
		b = g.Moves.Append(b)
	}
	if g.Renamed.Inc > 0 { // as a distance, which stays when all incarnations are raised
		b = AppendString(binary.AppendUvarint(b, g.Renamed.Inc-g.Inc), g.Renamed.To)
	}
	return b
}
