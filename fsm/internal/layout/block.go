package layout

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// BlockBytes is the size at which a block is full. Small enough that adding to the last block of
// a session rewrites little, big enough that reading a session's tail takes one or two.
const BlockBytes = 8 << 10

// Messages are stored in blocks: runs of a session's records, in seq order, as
// one value of the store. LAYOUT.md draws it.
//
//	key    8 bytes incarnation, 8 bytes seq, big endian: no record's is lower, and
//	       every record of the block before has a lower one
//	value  1 byte version, 4 bytes CRC-32C (little endian) of version and rest:
//	       uvarint number of records, then for each
//	           uvarint seq, as the difference to the record before (first: to the key)
//	           1 byte flags
//	           uvarint time (zigzag), as the difference to the record before (first: 0)
//	           uvarint length of id, uvarint length of data
//	           if its flags say so: uvarint revision (zigzag), as the difference to
//	           that of the last record before that has one (first: 0)
//	       all ids, then all data
//
// Ids are together so that the id window can be rebuilt without touching the
// pages of the payloads.
const (
	blockVersion = 1
	blockHeader  = 1 + 4

	flagHead = 1 << 0 // pushed at the head
	flagDead = 1 << 1 // tombstone: data is the digest of what was
	flagRev  = 1 << 2 // has a revision
	// flagEdited: before the payload, data has the digest of what it was at first.
	flagEdited = 1 << 3
	flagInside = 1 << 4 // Record.Inside
	flagTold   = 1 << 5 // Record.Told
	// flagNotes: before that digest, or the payload, data has notes.
	flagNotes = 1 << 6

	knownFlags = flagHead | flagDead | flagRev | flagEdited | flagInside | flagTold | flagNotes
)

// EncodeBlock returns the value for records, of which there is at least one,
// under a key that names first, in the memory of buf if that suffices. first may
// lie below the first record's seq: a block whose first records are gone keeps its
// key.
func EncodeBlock(buf []byte, first uint64, records []Record) []byte {
	size := blockHeader + binary.MaxVarintLen64
	for i := range records {
		size += 4*binary.MaxVarintLen64 + len(records[i].ID) + records[i].storedLen()
	}
	b := append(slices.Grow(buf[:0], size), blockVersion, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(records)))
	seq, time, revision := first, int64(0), uint64(0)
	for i := range records {
		r := &records[i]
		b = binary.AppendUvarint(b, r.Seq-seq)
		b = append(b, r.Flags())
		b = binary.AppendVarint(b, r.Time-time)
		b = binary.AppendUvarint(b, uint64(len(r.ID)))
		b = binary.AppendUvarint(b, uint64(r.storedLen()))
		if r.Revision != 0 {
			b = binary.AppendVarint(b, int64(r.Revision-revision))
			revision = r.Revision
		}
		seq, time = r.Seq, r.Time
	}
	for i := range records {
		b = append(b, records[i].ID...)
	}
	for i := range records {
		if records[i].Notes != nil {
			b = records[i].Notes.Append(b)
		}
		if was := records[i].Original; was != nil {
			b = append(b, was[:]...)
		}
		b = append(b, records[i].Data...)
	}
	binary.LittleEndian.PutUint32(b[1:], blockSum(b))
	return b
}

// blockSum returns the checksum that belongs into a block.
func blockSum(b []byte) uint32 { return crc32.Update(Checksum(b[:1]), crcTable, b[blockHeader:]) }

// Flags returns what a block's directory says of the record.
func (r *Record) Flags() (f byte) {
	if r.Side == turn.Head {
		f |= flagHead
	}
	if r.Dead {
		f |= flagDead
	}
	if r.Revision != 0 {
		f |= flagRev
	}
	if r.Original != nil {
		f |= flagEdited
	}
	if r.Inside {
		f |= flagInside
	}
	if r.Told {
		f |= flagTold
	}
	if r.Notes != nil {
		f |= flagNotes
	}
	return f
}

// storedLen is the length of what a block holds before the payload, and of it.
func (r *Record) storedLen() int {
	n := len(r.Data)
	if r.Notes != nil {
		n += len(r.Notes.Append(nil))
	}
	if r.Original != nil {
		n += DigestSize
	}
	return n
}

// DecodeBlock appends the records of a stored block to dst. Their data is part of
// value, which may be borrowed from the store.
func DecodeBlock(dst []Record, first uint64, value []byte, borrowed bool) ([]Record, error) {
	if err := verifyBlock(value); err != nil {
		return dst, err
	}
	return DecodeVerified(dst, first, value, borrowed)
}

// verifyBlock holds a stored block against its checksum.
func verifyBlock(value []byte) error {
	if len(value) < blockHeader {
		return DamagedBlock("stored block of %d bytes is too short", len(value))
	}
	if blockSum(value) != binary.LittleEndian.Uint32(value[1:]) {
		return DamagedBlock("stored block fails its checksum")
	}
	return CheckVersion(value, blockVersion, "block")
}

// CheckBlock is verifyBlock for a block that is copied as it is, not decoded. Damage
// that is copied would spread: over garbage collection, dumps and restores.
func CheckBlock(key, value []byte) error {
	if len(key) != BlockKeySize {
		return turn.Errorf(turn.Corrupt, "the key %x is not that of a block", key)
	}
	if err := verifyBlock(value); err != nil {
		return InBlock(err, key)
	}
	return nil
}

// DecodeVerified is DecodeBlock for a value that was decoded before, and not written to since.
func DecodeVerified(dst []Record, first uint64, value []byte, borrowed bool) ([]Record, error) {
	body := value[blockHeader:]
	names, data, err := blockSections(body)
	if err != nil {
		return dst, err
	}
	ids := string(names)
	r := Reader{b: body}
	e, n := entry{seq: first}, r.Count()
	dst = slices.Grow(dst, n)
	for range n {
		e = r.entry(e)
		rec := Record{Seq: e.seq, Time: e.time, Dead: e.flags&flagDead != 0, Inside: e.flags&flagInside != 0,
			Told: e.flags&flagTold != 0, Revision: e.own(), Borrowed: borrowed}
		if e.flags&flagHead != 0 {
			rec.Side = turn.Head
		}
		rec.ID, ids = ids[:e.idLen], ids[e.idLen:]
		rec.Data, data = data[:e.dataLen:e.dataLen], data[e.dataLen:]
		if e.flags&flagNotes != 0 {
			if rec.Notes, rec.Data, err = decodeNotes(rec.Data); err != nil {
				return dst, err
			}
		}
		if e.flags&flagEdited != 0 {
			if len(rec.Data) < DigestSize {
				return dst, turn.Errorf(turn.Corrupt, "stored block has a message without its digest")
			}
			rec.Original, rec.Data = (*[DigestSize]byte)(rec.Data), rec.Data[DigestSize:]
		}
		dst = append(dst, rec)
	}
	return dst, nil
}

// entry is a line of a block's directory.
type entry struct {
	seq     uint64
	time    int64
	flags   byte
	idLen   int
	dataLen int
	// revision is that of the record, or of the last one before that has one.
	revision uint64
}

// own returns the revision of the record itself, 0 if it has none.
func (e *entry) own() uint64 {
	if e.flags&flagRev == 0 {
		return 0
	}
	return e.revision
}

func (r *Reader) entry(before entry) entry {
	e := entry{seq: before.seq + r.Uint(), revision: before.revision}
	if len(r.b) == 0 {
		r.bad = true
		return e
	}
	e.flags, r.b = r.b[0], r.b[1:]
	e.time = before.time + r.zigzag()
	e.idLen, e.dataLen = r.Count(), r.Count()
	if e.flags&flagRev != 0 {
		e.revision += uint64(r.zigzag())
	}
	return e
}

// blockSections checks the directory of a block and returns what follows it.
func blockSections(body []byte) (ids, data []byte, err error) {
	r := Reader{b: body}
	idBytes, dataBytes := 0, 0
	for range r.Count() {
		e := r.entry(entry{})
		idBytes += e.idLen
		dataBytes += e.dataLen
		if e.flags&^knownFlags != 0 && !r.bad {
			return nil, nil, turn.Errorf(turn.Newer,
				"stored block has a message with flags %#x, of which this turnlog knows %#x: run the newer turnlog",
				e.flags, knownFlags)
		}
	}
	if r.bad || idBytes+dataBytes != len(r.b) {
		return nil, nil, DamagedBlock("stored block has a malformed directory")
	}
	return r.b[:idBytes], r.b[idBytes:], nil
}
