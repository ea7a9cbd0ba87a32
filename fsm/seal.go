package fsm

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

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
		sum = crc32.Update(sum, castagnoli, stored[:1])
	}
	return crc32.Update(sum, castagnoli, stored[sealHeader:])
}

// unsealed returns a value that may have a seal without it; it is part of stored.
func unsealed(key, stored []byte, what string) ([]byte, error) {
	if len(stored) > 0 && stored[0] == plainVersion {
		return stored, nil
	}
	return unseal(sealedVersion, key, stored, what)
}

// indices are the buckets that had no seals before stateVersion.
func indices() [][]byte {
	return [][]byte{bucketDue, bucketTombstones, bucketGarbage, bucketNamespaces}
}

// dumped returns a value of the store as dumps hold it, without its seal unless it is of
// an element; blocks are another matter.
func dumped(bucket, key, stored []byte) ([]byte, error) {
	switch string(bucket) {
	case string(bucketElements):
		return stored, nil
	case string(bucketHeads):
		return unsealed(key, stored, "session")
	case string(bucketMeta):
		if string(key) == string(keyState) {
			return unseal(stateVersion, key, stored, "state description")
		}
		return unsealed(key, stored, "tag window")
	}
	return unseal(sealedVersion, key, stored, "index entry")
}

// checkDumped holds a pair of a dump against the checksum that it brings along from the
// store. Elements and blocks have one; that of other pairs was removed by dumped, which
// verified it, and is made again by restored.
func checkDumped(bucket, key, value []byte) error {
	switch string(bucket) {
	case string(bucketElements):
		return checkElement(key, value)
	case string(bucketBlocks):
		return checkBlock(key, value)
	}
	return nil
}

// restored returns what the store holds for a value of a dump.
func restored(bucket, key, value []byte) (stored []byte, err error) {
	version := byte(sealedVersion)
	switch string(bucket) {
	case string(bucketElements):
		return slices.Clone(value), nil
	case string(bucketMeta), string(bucketHeads):
		if string(key) == string(keyState) {
			version = stateVersion
			if len(value) > 0 && value[0] == metaLevelVersion {
				return seal(version, key, value), nil
			}
		} else if len(value) > 0 && value[0] == movesHeadVersion && string(bucket) == string(bucketHeads) {
			return seal(version, key, value), nil
		}
		if value, err = unsealed(key, value, "value"); err != nil {
			return nil, err
		}
	}
	return seal(version, key, value), nil
}
