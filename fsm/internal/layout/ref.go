package layout

import (
	"encoding/binary"
	"math"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

const refSize = 16 // bytes that most take, without the seal

// EncodeRef returns the stored form of a reference to a block in a block file: sealed,
// uvarints file, offset, length.
func EncodeRef(key []byte, ref blockfile.Ref) []byte {
	b := binary.AppendUvarint(SealBuffer(refSize), ref.File)
	b = binary.AppendUvarint(b, uint64(ref.Offset))
	return SealInPlace(key, binary.AppendUvarint(b, uint64(ref.Length)))
}

// DecodeRef returns what a stored value refers to.
func DecodeRef(key, value []byte) (blockfile.Ref, error) {
	value, err := Unseal(key, value, "block reference")
	if err != nil {
		return blockfile.Ref{}, err
	}
	r := NewReader(value)
	file, offset, length := r.Uint(), r.Uint(), r.Uint()
	if offset > math.MaxInt64 || length > blockfile.MaxBlob {
		r.bad = true
	}
	return blockfile.Ref{File: file, Offset: int64(offset), Length: int(length)}, r.End("block reference")
}

// BlockSize is the length of the block that a value refers to, 0 if it is damaged.
func BlockSize(key, value []byte) int {
	ref, err := DecodeRef(key, value)
	if err != nil {
		return 0
	}
	return ref.Length
}
