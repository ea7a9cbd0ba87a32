package layout

import (
	"encoding/binary"
)

// Waste is what may be removed of an incarnation, from a certain cluster time on.
type Waste struct {
	Below     uint64 // blocks that hold only seqs below; MaxSeq: all of it, elements too
	Tombstone string // key of the tombstone, if one goes with it
	Names     string // elements with names below
}

// Encode returns the stored form, without its seal.
func (x *Waste) Encode() []byte {
	b := AppendString(binary.AppendUvarint(nil, x.Below), x.Tombstone)
	if x.Names != "" {
		b = AppendString(b, x.Names)
	}
	return b
}

// DecodeWaste decodes a pair of the garbage list.
func DecodeWaste(key, stored []byte) (x Waste, err error) {
	v, err := Dumped(BucketGarbage, key, stored)
	if err != nil {
		return x, err
	}
	return ParseWaste(v)
}

// ParseWaste is the reverse of Encode.
func ParseWaste(v []byte) (x Waste, err error) {
	r := NewReader(v)
	x.Below, x.Tombstone = r.Uint(), r.Text()
	if r.More() {
		x.Names = r.Text()
	}
	return x, r.End("garbage entry")
}
