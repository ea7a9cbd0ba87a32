package blockfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// KeySize is the length of a blob's key.
const KeySize = 16

const (
	magic      = "TLBLOCK"
	version    = 1
	headerSize = len(magic) + 1
	frameSize  = 4 + 4 + KeySize
)

// MaxBlob is the largest blob that a record can hold.
const MaxBlob = 1<<32 - 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Ref says where a blob is.
type Ref struct {
	File   uint64
	Offset int64 // of its record
	Length int   // of the blob
}

// Size is how many bytes of the file the blob takes.
func (r Ref) Size() int64 { return frameSize + int64(r.Length) }

func header() []byte { return append([]byte(magic), version) }

func checkHeader(b []byte) error {
	switch v := b[len(magic)]; {
	case string(b[:len(magic)]) != magic:
		return fmt.Errorf("%w: it does not begin like one", ErrCorrupt)
	case bits.OnesCount8(v^version) == 1: // the next version differs in two bits
		return fmt.Errorf("%w: it has the version %d, one bit away from %d", ErrCorrupt, v, version)
	case v > version:
		return fmt.Errorf("%w: it has version %d, this turnlog reads up to %d: run the newer turnlog", ErrNewer, v,
			version)
	case v < version:
		return fmt.Errorf("%w: it has the unknown version %d", ErrCorrupt, v)
	}
	return nil
}

// appendFrame appends what precedes a blob.
func appendFrame(b, key []byte, length int) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = append(b, key...)
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// readFrame returns what a frame says. The key is part of b.
func readFrame(b []byte) (key []byte, length int, err error) {
	if crc32.Checksum(b[4:frameSize], castagnoli) != binary.LittleEndian.Uint32(b) {
		return nil, 0, fmt.Errorf("%w: a record fails its checksum", ErrCorrupt)
	}
	return b[8:frameSize], int(binary.LittleEndian.Uint32(b[4:])), nil
}
