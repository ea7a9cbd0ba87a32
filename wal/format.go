package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// Every file begins, and every manifest slot begins, with a preamble that no later version will change:
//
//	 0  magic    8 bytes
//	 8  version  u32
//	12  crc      u32   CRC32C of bytes 0–12
//
// so that "newer than this program" can be told from damage. All numbers are little-endian; CRC32C is the Castagnoli
// polynomial.
//
// A segment is one file of a fixed size. Its first 4096 bytes are the header, the rest is frames, one after the other:
//
//	header                     frame, one per Append or truncation      record, count of them in a frame
//	 0  preamble "turnseg\n"    0  crc     u32  of bytes 4–40, seeded    0  crc    u32  of the rest with padding, seeded
//	16  log id   u64            4  epoch   u32                           4  epoch  u32  the frame's
//	24  segment  u64            8  length  u32  of the records, in bytes 8  index  u64
//	32  salt     u64           12  count   u32  of the records          16  data   u32  length
//	40  size     u64           16  index   u64  of the first record     20  meta   u32  length
//	48  crc      u32  of 0–48  24  first   u64  FirstIndex from now on  24  meta bytes, data bytes, zeros
//	    zeros up to 4096       32  at      u32  this frame's own offset     up to a multiple of 8
//	                           36  back    u32  see below
//
// A frame says: records below first and records from index on are void, and here are count records, numbered from
// index. So a frame without records is a truncation, at either end or of everything, and each of those is as atomic as
// an append.
//
// The seed is the CRC32C of header bytes 16–40. The salt is drawn again each time that a file begins a life as a
// segment, so bytes of an earlier life do not verify. The epoch does the same within one life: it rises with every
// Open, and bytes that a crash left beyond the tail carry an older one. Together they mean that a place is written at
// most once under the same seed and epoch, so whatever verifies there was written there, and as a part of that batch.
//
// back is used in the first frame of a segment only: the offset at which the frames of the segment before it end. That
// makes the end of every segment but the last exact.
//
// There is no commit marker behind the records. A disk may write the sectors of one write in any order, so a marker at
// the end proves nothing about what comes before it. Instead the frame counts only when its head and all of its
// records verify; the head comes first because it says how far the frame reaches, so that nothing has to be guessed
// from damaged bytes.
const (
	formatVersion = 1

	headerSize     = 4096
	frameHeadSize  = 40
	recordHeadSize = 24

	segmentMagic  = "turnseg\n"
	manifestMagic = "turnlog\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

var le = binary.LittleEndian

func putPreamble(b []byte, magic string) {
	copy(b, magic)
	le.PutUint32(b[8:], formatVersion)
	le.PutUint32(b[12:], checksum(b[:12]))
}

// checkPreamble returns "" for a file of ours, a reason if it is damaged, and ErrNewer if it is too new.
func checkPreamble(b []byte, magic string) (reason string, err error) {
	switch {
	case checksum(b[:12]) != le.Uint32(b[12:]):
		return "the preamble does not match its checksum", nil
	case string(b[:8]) != magic:
		return "this is another kind of file", nil
	case le.Uint32(b[8:]) > formatVersion:
		return "", ErrNewer
	}
	return "", nil
}

// header identifies one life of a segment file.
type header struct {
	logID uint64
	id    uint64 // the segment's number, which is also its file name
	salt  uint64
	size  int64 // of the file
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	putPreamble(b, segmentMagic)
	le.PutUint64(b[16:], h.logID)
	le.PutUint64(b[24:], h.id)
	le.PutUint64(b[32:], h.salt)
	le.PutUint64(b[40:], uint64(h.size))
	le.PutUint32(b[48:], checksum(b[:48]))
	return b
}

func decodeHeader(b []byte) (h header, reason string, err error) {
	if reason, err = checkPreamble(b, segmentMagic); reason != "" || err != nil {
		return header{}, reason, err
	}
	if checksum(b[:48]) != le.Uint32(b[48:]) {
		return header{}, "the segment header does not match its checksum", nil
	}
	return header{
		logID: le.Uint64(b[16:]),
		id:    le.Uint64(b[24:]),
		salt:  le.Uint64(b[32:]),
		size:  int64(le.Uint64(b[40:])),
	}, "", nil
}

// seed starts every checksum of this life of the file.
func (h header) seed() uint32 {
	b := h.encode()
	return checksum(b[16:40])
}

// frame is the head of a batch.
type frame struct {
	epoch  uint32
	length uint32
	count  uint32
	index  uint64
	first  uint64
	at     uint32
	back   uint32
}

// end is the offset after the frame.
func (f frame) end() int64 { return int64(f.at) + frameHeadSize + int64(f.length) }

func (f frame) put(b []byte, seed uint32) {
	le.PutUint32(b[4:], f.epoch)
	le.PutUint32(b[8:], f.length)
	le.PutUint32(b[12:], f.count)
	le.PutUint64(b[16:], f.index)
	le.PutUint64(b[24:], f.first)
	le.PutUint32(b[32:], f.at)
	le.PutUint32(b[36:], f.back)
	le.PutUint32(b, crc32.Update(seed, castagnoli, b[4:frameHeadSize]))
}

func decodeFrame(b []byte, seed uint32) (f frame, ok bool) {
	if crc32.Update(seed, castagnoli, b[4:frameHeadSize]) != le.Uint32(b) {
		return frame{}, false
	}
	return frame{
		epoch:  le.Uint32(b[4:]),
		length: le.Uint32(b[8:]),
		count:  le.Uint32(b[12:]),
		index:  le.Uint64(b[16:]),
		first:  le.Uint64(b[24:]),
		at:     le.Uint32(b[32:]),
		back:   le.Uint32(b[36:]),
	}, true
}

// Record is one entry of the log. Nil and empty bytes are the same.
type Record struct {
	Index uint64 // neither 0 nor the highest number
	Meta  []byte // opaque, by convention small
	Data  []byte // opaque
}

// recordSize is what a record takes in a frame.
func recordSize(meta, data int) int64 {
	return (recordHeadSize + int64(meta) + int64(data) + 7) &^ 7
}

// appendRecord adds a record's encoding to b.
func appendRecord(b []byte, seed, epoch uint32, r Record) []byte {
	start := len(b)
	b = append(b, make([]byte, recordHeadSize)...)
	head := b[start:]
	le.PutUint32(head[4:], epoch)
	le.PutUint64(head[8:], r.Index)
	le.PutUint32(head[16:], uint32(len(r.Data)))
	le.PutUint32(head[20:], uint32(len(r.Meta)))
	b = append(b, r.Meta...)
	b = append(b, r.Data...)
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	le.PutUint32(b[start:], crc32.Update(seed, castagnoli, b[start+4:]))
	return b
}

// recordLength reads a record's length from its head, which is not verified yet: use it to know how much to read, not
// more.
func recordLength(head []byte) int64 {
	return recordSize(int(le.Uint32(head[20:])), int(le.Uint32(head[16:])))
}

// decodeRecord verifies the record at the start of b. Its slices point into b.
func decodeRecord(b []byte, seed uint32) (r Record, epoch uint32, size int64, reason string) {
	if len(b) < recordHeadSize {
		return Record{}, 0, 0, "the record is cut off"
	}
	size = recordLength(b)
	if size > int64(len(b)) {
		return Record{}, 0, 0, "the record reaches beyond its frame"
	}
	if crc32.Update(seed, castagnoli, b[4:size]) != le.Uint32(b) {
		return Record{}, 0, 0, "the record does not match its checksum"
	}
	meta := recordHeadSize + int(le.Uint32(b[20:]))
	data := meta + int(le.Uint32(b[16:]))
	return Record{
		Index: le.Uint64(b[8:]),
		Meta:  b[recordHeadSize:meta:meta],
		Data:  b[meta:data:data],
	}, le.Uint32(b[4:]), size, ""
}
