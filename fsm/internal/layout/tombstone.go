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
	return g, r.End("tombstone")
}

// Encode returns the stored form, without its seal.
func (g Tombstone) Encode() []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, g.Last), uint64(g.Deadline))
	if g.Moves.Total > 0 {
		b = g.Moves.Append(b)
	}
	return b
}
