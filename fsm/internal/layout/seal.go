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
// That of elements, which is version 1, leaves the version out.
//
// A session's head, the state description and the tag windows were stored without a
// seal at first, and so were references to blocks and the indices. What is sealed of those
// is the value as it was then, with its own version byte if it had one, and dumps hold that
// still.
//
// The version of the state description's seal is that of the store: in one of
// StateVersion, the indices have seals, and what knows lower versions alone refuses it.
//
// A flipped bit in a key is found where the pair was: by what looks for it there, or walks
// past it, and by the scrub at the latest.
const (
	SealSize = 1 + 4 // bytes before what is sealed

	PlainVersion = 1 // of heads, state description and tag windows without a seal
	SealVersion  = 2 // of heads, tag windows and the indices
	StateVersion = 4 // of the state description; two bits from 1 and 2
)

// Seal returns value sealed in a version, under a key.
func Seal(version byte, key, value []byte) []byte {
	return SealInPlace(version, key, append(SealBuffer(len(value)), value...))
}

// SealBuffer returns where a value of about size bytes is to be appended, to be sealed in
// place.
func SealBuffer(size int) []byte { return make([]byte, SealSize, SealSize+size) }

// SealInPlace seals what was appended to a SealBuffer, in its memory.
func SealInPlace(version byte, key, b []byte) []byte {
	b[0] = version
	binary.LittleEndian.PutUint32(b[1:], sealSum(key, b))
	return b
}

// Unseal returns the rest of a value that is sealed in a version, which is part of
// stored. The checksum comes first: bytes that are not where they were written look
// like any version.
func Unseal(version byte, key, stored []byte, what string) ([]byte, error) {
	if len(stored) < SealSize {
		return nil, turn.Errorf(turn.Corrupt, "stored %s of %d bytes is too short", what, len(stored))
	}
	if sealSum(key, stored) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, turn.Errorf(turn.Corrupt, "stored %s %x fails its checksum", what, key)
	}
	return stored[SealSize:], CheckVersion(stored, version, what)
}

// sealSum returns the checksum that belongs into what is stored under a key.
func sealSum(key, stored []byte) uint32 {
	sum := Checksum(key)
	if stored[0] != elementVersion {
		sum = crc32.Update(sum, crcTable, stored[:1])
	}
	return crc32.Update(sum, crcTable, stored[SealSize:])
}

// UnsealOrPlain returns a value that may have a seal without it; it is part of stored.
func UnsealOrPlain(key, stored []byte, what string) ([]byte, error) {
	if len(stored) > 0 && stored[0] == PlainVersion {
		return stored, nil
	}
	return Unseal(SealVersion, key, stored, what)
}

// elementVersion is that of the seals of elements.
const elementVersion = 1

// SealElement returns the stored form of an element.
func SealElement(key, value []byte) []byte { return Seal(elementVersion, key, value) }

// OpenElement returns the value in memory of its own.
func OpenElement(key, stored []byte) ([]byte, error) {
	if err := CheckElement(key, stored); err != nil {
		return nil, err
	}
	return bytes.Clone(stored[SealSize:]), nil
}

// CheckElement verifies the seal of an element.
func CheckElement(key, stored []byte) error {
	_, err := Unseal(elementVersion, key, stored, "element")
	return err
}
