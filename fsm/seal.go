package fsm

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
// seal at first, and so were references to blocks and the indices. What is sealed of those is the value as it was
// then, with its own version byte if it had one, and dumps hold that still.
//
// The version of the state description's seal is that of the store: in one of
// stateVersion, the indices have seals (upgrade.go), and what knows lower versions alone
// refuses it.
//
// A flipped bit in a key is found where the pair was: by what looks for it there, or walks
// past it (neighbours.go), and by the scrub (scrub.go) at the latest.
const (
	sealHeader = 1 + 4

	plainVersion  = 1 // of heads, state description and tag windows without a seal
	sealedVersion = 2
	stateVersion  = 4 // of the state description; two bits from 1 and 2
)

func seal(version byte, key, value []byte) []byte {
	return sealed(version, key, append(sealing(len(value)), value...))
}

// sealing returns where a value of about size bytes is to be appended, to be sealed in
// place.
func sealing(size int) []byte { return make([]byte, sealHeader, sealHeader+size) }

// sealed seals what was appended to a sealing, in its memory.
func sealed(version byte, key, b []byte) []byte {
	b[0] = version
	binary.LittleEndian.PutUint32(b[1:], sealSum(key, b))
	return b
}

// unseal returns the rest of a value that is sealed in a version, which is part of
// stored. The checksum comes first: bytes that are not where they were written look
// like any version.
func unseal(version byte, key, stored []byte, what string) ([]byte, error) {
	if len(stored) < sealHeader {
		return nil, turn.Errorf(turn.Corrupt, "stored %s of %d bytes is too short", what, len(stored))
	}
	if sealSum(key, stored) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, turn.Errorf(turn.Corrupt, "stored %s %x fails its checksum", what, key)
	}
	return stored[sealHeader:], checkVersion(stored, version, what)
}

// sealSum returns the checksum that belongs into what is stored under a key.
func sealSum(key, stored []byte) uint32 {
	sum := checksum(key)
	if stored[0] != elementVersion {
		sum = crc32.Update(sum, crcTable, stored[:1])
	}
	return crc32.Update(sum, crcTable, stored[sealHeader:])
}

// unsealed returns a value that may have a seal without it; it is part of stored.
func unsealed(key, stored []byte, what string) ([]byte, error) {
	if len(stored) > 0 && stored[0] == plainVersion {
		return stored, nil
	}
	return unseal(sealedVersion, key, stored, what)
}

// elementVersion is that of the seals of elements.
const elementVersion = 1

// sealElement returns the stored form of an element.
func sealElement(key, value []byte) []byte { return seal(elementVersion, key, value) }

// openElement returns the value in memory of its own.
func openElement(key, stored []byte) ([]byte, error) {
	if err := checkElement(key, stored); err != nil {
		return nil, err
	}
	return bytes.Clone(stored[sealHeader:]), nil
}

// checkElement verifies the seal of an element.
func checkElement(key, stored []byte) error {
	_, err := unseal(elementVersion, key, stored, "element")
	return err
}
