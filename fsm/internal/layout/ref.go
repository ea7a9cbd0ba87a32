package layout

import (
	"encoding/binary"
	"math"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

// sealedRefVersion begins the value of a block that is in a block file: a sealed
// reference, which begins with refVersion. Stores of the second version hold such
// without a seal. A value that begins with blockVersion or revBlockVersion is the block
// itself: stores of the first version hold such, and dumps. No bit makes one of the versions
// another.
const (
	refVersion       = 2
	sealedRefVersion = 4

	refSize = 16 // bytes that most take, without the seal
)

// EncodeRef returns the value for a block that is in a block file: sealed, a
// version byte, uvarints file, offset, length.
func EncodeRef(key []byte, ref blockfile.Ref) []byte {
	b := binary.AppendUvarint(append(SealBuffer(refSize), refVersion), ref.File)
	b = binary.AppendUvarint(b, uint64(ref.Offset))
	return SealInPlace(sealedRefVersion, key, binary.AppendUvarint(b, uint64(ref.Length)))
}

// DecodeRef returns what a value refers to; ok is false if it is the block itself.
func DecodeRef(key, value []byte) (ref blockfile.Ref, ok bool, err error) {
	if len(value) == 0 || value[0] == blockVersion || value[0] == revBlockVersion {
		return ref, false, nil // DecodeBlock rejects an empty one
	}
	if value[0] > refVersion {
		if value, err = Unseal(sealedRefVersion, key, value, "block reference"); err != nil {
			return ref, false, err
		}
	}
	if err := CheckVersion(value, refVersion, "block"); err != nil {
		return ref, false, err
	}
	r := Reader{b: value[1:]}
	file, offset, length := r.Uint(), r.Uint(), r.Uint()
	if offset > math.MaxInt64 || length > blockfile.MaxBlob {
		r.bad = true
	}
	return blockfile.Ref{File: file, Offset: int64(offset), Length: int(length)}, true, r.End("block reference")
}

// BlockSize is the length of the block that a value is or refers to.
func BlockSize(key, value []byte) int {
	if ref, elsewhere, _ := DecodeRef(key, value); elsewhere {
		return ref.Length
	}
	return len(value)
}
