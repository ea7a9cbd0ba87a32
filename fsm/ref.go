package fsm

import (
	"encoding/binary"
	"math"

	"github.com/turnlog/turnlog/fsm/blockfile"
)

// sealedRefVersion begins the value of a block that is in a block file: a sealed
// reference, which begins with refVersion. Stores of the second version hold such
// without a seal. A value that begins with blockVersion or revBlockVersion is the block itself: stores of
// the first version hold such, and dumps. No bit makes one of the versions another.
const (
	refVersion       = 2
	sealedRefVersion = 4

	refSize = 16 // of most, but for the seal
)

// encodeRef returns the value for a block that is in a block file: sealed, a
// version byte, uvarints file, offset, length.
func encodeRef(key []byte, ref blockfile.Ref) []byte {
	b := binary.AppendUvarint(append(sealing(refSize), refVersion), ref.File)
	b = binary.AppendUvarint(b, uint64(ref.Offset))
	return sealed(sealedRefVersion, key, binary.AppendUvarint(b, uint64(ref.Length)))
}

// decodeRef returns what a value refers to; ok is false if it is the block itself.
func decodeRef(key, value []byte) (ref blockfile.Ref, ok bool, err error) {
	if len(value) == 0 || value[0] == blockVersion || value[0] == revBlockVersion {
		return ref, false, nil // decodeBlock tells of an empty one
	}
	if value[0] > refVersion {
		if value, err = unseal(sealedRefVersion, key, value, "block reference"); err != nil {
			return ref, false, err
		}
	}
	if err := checkVersion(value, refVersion, "block"); err != nil {
		return ref, false, err
	}
	r := reader{b: value[1:]}
	file, offset, length := r.uint(), r.uint(), r.uint()
	if offset > math.MaxInt64 || length > blockfile.MaxBlob {
		r.bad = true
	}
	return blockfile.Ref{File: file, Offset: int64(offset), Length: int(length)}, true, r.end("block reference")
}

// blockSize is the length of the block that a value is or refers to.
func blockSize(key, value []byte) int {
	if ref, elsewhere, _ := decodeRef(key, value); elsewhere {
		return ref.Length
	}
	return len(value)
}
