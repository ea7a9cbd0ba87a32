package layout

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/turnlog/turnlog/turn"
)

// Stored values are sealed: with a checksum over key and value, so that neither can be
// taken for another's.
//
//	1 byte version, 4 bytes CRC-32C (little endian) of key, version and rest; rest
//
// The version of the state description's seal is that of the store.
//
// A flipped bit in a key is found where the pair was: by what looks for it there, or walks
// past it, and by the scrub at the latest.
const (
	SealSize = 1 + 4 // bytes before what is sealed

	sealVersion = 1
)

// Seal returns value sealed under a key.
func Seal(key, value []byte) []byte {
	return SealInPlace(key, append(SealBuffer(len(value)), value...))
}

// SealBuffer returns where a value of about size bytes is to be appended, to be sealed in
// place.
func SealBuffer(size int) []byte { return make([]byte, SealSize, SealSize+size) }

// SealInPlace seals what was appended to a SealBuffer, in its memory.
func SealInPlace(key, b []byte) []byte {
	b[0] = sealVersion
	binary.LittleEndian.PutUint32(b[1:], sealSum(key, b))
	return b
}

// Unseal returns the rest of a sealed value, which is part of stored. The checksum comes
// first: bytes that are not where they were written look like any version.
func Unseal(key, stored []byte, what string) ([]byte, error) {
	if len(stored) < SealSize {
		return nil, turn.Errorf(turn.Corrupt, "stored %s of %d bytes is too short", what, len(stored))
	}
	if sealSum(key, stored) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, turn.Errorf(turn.Corrupt, "stored %s %x fails its checksum", what, key)
	}
	return stored[SealSize:], CheckVersion(stored, sealVersion, what)
}

// sealSum returns the checksum that belongs into what is stored under a key.
func sealSum(key, stored []byte) uint32 {
	sum := crc32.Update(Checksum(key), crcTable, stored[:1])
	return crc32.Update(sum, crcTable, stored[SealSize:])
}

// OpenElement returns the value of a stored element, in memory of its own.
func OpenElement(key, stored []byte) ([]byte, error) {
	if err := CheckElement(key, stored); err != nil {
		return nil, err
	}
	return bytes.Clone(stored[SealSize:]), nil
}

// CheckElement verifies the seal of an element.
func CheckElement(key, stored []byte) error {
	_, err := Unseal(key, stored, "element")
	return err
}

// Dumped returns a value of the store as dumps hold it, without its seal unless it is of
// an element; blocks are another matter.
func Dumped(bucket, key, stored []byte) ([]byte, error) {
	switch string(bucket) {
	case string(BucketElements):
		return stored, nil
	case string(BucketHeads):
		return Unseal(key, stored, "session")
	case string(BucketMeta):
		if string(key) == string(KeyState) {
			return Unseal(key, stored, "state description")
		}
		return Unseal(key, stored, "tag window")
	}
	return Unseal(key, stored, "index entry")
}
