package fsm

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// Messages are stored in blocks: runs of a session's records, in seq order, as
// one value of the store. LAYOUT.md draws it.
//
//	key    8 bytes incarnation, 8 bytes seq, big endian: no record's is lower, and
//	       every record of the block before has a lower one
//	value  1 byte version, 4 bytes CRC-32C (little endian) of the rest:
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
	// revBlockVersion is that of blocks with revisions, or edited messages: before turn.Level1
	// there are none. Two bits from every other first byte of a value (blocks.go).
	revBlockVersion = 7
	blockHeader     = 1 + 4

	flagHead = 1 << 0 // pushed at the head
	flagDead = 1 << 1 // tombstone: data is the digest of what was
	flagRev  = 1 << 2 // has a revision
	// flagEdited: before the payload, data has the digest of what it was at first.
	flagEdited = 1 << 3

	knownFlags = flagHead | flagDead | flagRev | flagEdited
)

const blockKeySize = 16

func blockKey(inc, seq uint64) []byte {
	return appendBlockKey(make([]byte, 0, blockKeySize), inc, seq)
}

func appendBlockKey(b []byte, inc, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, inc), seq)
}

func splitBlockKey(k []byte) (inc, seq uint64) {
	return binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:])
}

// encodeBlock returns the value for records, of which there is at least one,
// under a key that names first, in the memory of buf if that suffices. first may
// lie below the first record's seq: a block whose first records are gone keeps its
// key.
func encodeBlock(buf []byte, first uint64, records []record) []byte {
	size := blockHeader + binary.MaxVarintLen64
	for i := range records {
		size += 4*binary.MaxVarintLen64 + len(records[i].id) + records[i].storedLen()
	}
	b := append(slices.Grow(buf[:0], size), blockVersion, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(records)))
	seq, time, revision := first, int64(0), uint64(0)
	for i := range records {
		r := &records[i]
		b = binary.AppendUvarint(b, r.seq-seq)
		b = append(b, r.flags())
		b = binary.AppendVarint(b, r.time-time)
		b = binary.AppendUvarint(b, uint64(len(r.id)))
		b = binary.AppendUvarint(b, uint64(r.storedLen()))
		if r.revision != 0 {
			b = binary.AppendVarint(b, int64(r.revision-revision))
			revision = r.revision
		}
		if r.flags()&(flagRev|flagEdited) != 0 {
			b[0] = revBlockVersion
		}
		seq, time = r.seq, r.time
	}
	for i := range records {
		b = append(b, records[i].id...)
	}
	for i := range records {
		if was := records[i].original; was != nil {
			b = append(b, was[:]...)
		}
		b = append(b, records[i].data...)
	}
	binary.LittleEndian.PutUint32(b[1:], checksum(b[blockHeader:]))
	return b
}

func (r *record) flags() (f byte) {
	if r.side == turn.Head {
		f |= flagHead
	}
	if r.dead {
		f |= flagDead
	}
	if r.revision != 0 {
		f |= flagRev
	}
	if r.original != nil {
		f |= flagEdited
	}
	return f
}

// storedLen is the length of what a block holds of the payload.
func (r *record) storedLen() int {
	if r.original != nil {
		return digestSize + len(r.data)
	}
	return len(r.data)
}

// decodeBlock appends the records of a stored block to dst. Their data is part of
// value, which may be borrowed from the store.
func decodeBlock(dst []record, first uint64, value []byte, borrowed bool) ([]record, error) {
	if err := verifyBlock(value); err != nil {
		return dst, err
	}
	return decodeSound(dst, first, value, borrowed)
}

// verifyBlock holds a stored block against its checksum.
func verifyBlock(value []byte) error {
	if len(value) < blockHeader {
		return damagedBlock("stored block of %d bytes is too short", len(value))
	}
	if value[0] != revBlockVersion {
		if bits.OnesCount8(value[0]^blockVersion) == 1 || bits.OnesCount8(value[0]^revBlockVersion) == 1 { // versions differ in two bits
			return damagedBlock("stored block has the version %d, one bit away from %d or %d", value[0], blockVersion, revBlockVersion)
		}
		if err := checkVersion(value, blockVersion, "block"); err != nil {
			return err
		}
	}
	if checksum(value[blockHeader:]) != binary.LittleEndian.Uint32(value[1:]) {
		return damagedBlock("stored block fails its checksum")
	}
	return nil
}

// checkBlock is verifyBlock for a block that is copied as it is, not decoded. Damage
// that is copied would spread: over garbage collection, dumps and restores.
func checkBlock(key, value []byte) error {
	if len(key) != blockKeySize {
		return turn.Errorf(turn.Corrupt, "the key %x is none of a block", key)
	}
	if err := verifyBlock(value); err != nil {
		return at(err, key)
	}
	return nil
}

// decodeSound is decodeBlock for a value that was decoded before, and not written to since.
func decodeSound(dst []record, first uint64, value []byte, borrowed bool) ([]record, error) {
	body := value[blockHeader:]
	names, data, err := blockSections(body, value[0] == revBlockVersion)
	if err != nil {
		return dst, err
	}
	ids := string(names)
	r := reader{b: body}
	e, n := entry{seq: first}, r.count()
	dst = slices.Grow(dst, n)
	for range n {
		e = r.entry(e)
		rec := record{seq: e.seq, time: e.time, dead: e.flags&flagDead != 0, revision: e.own(), borrowed: borrowed}
		if e.flags&flagHead != 0 {
			rec.side = turn.Head
		}
		rec.id, ids = ids[:e.idLen], ids[e.idLen:]
		rec.data, data = data[:e.dataLen:e.dataLen], data[e.dataLen:]
		if e.flags&flagEdited != 0 {
			if len(rec.data) < digestSize {
				return dst, turn.Errorf(turn.Corrupt, "stored block has a message without its digest")
			}
			rec.original, rec.data = (*[digestSize]byte)(rec.data), rec.data[digestSize:]
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

func (r *reader) entry(before entry) entry {
	e := entry{seq: before.seq + r.uint(), revision: before.revision}
	if len(r.b) == 0 {
		r.bad = true
		return e
	}
	e.flags, r.b = r.b[0], r.b[1:]
	e.time = before.time + r.zigzag()
	e.idLen, e.dataLen = r.count(), r.count()
	if e.flags&flagRev != 0 {
		e.revision += uint64(r.zigzag())
	}
	return e
}

// blockSections checks the directory of a block and returns what follows it.
func blockSections(body []byte, revisions bool) (ids, data []byte, err error) {
	r := reader{b: body}
	idBytes, dataBytes := 0, 0
	for range r.count() {
		e := r.entry(entry{})
		idBytes += e.idLen
		dataBytes += e.dataLen
		r.bad = r.bad || e.flags&flagRev != 0 && !revisions
		if e.flags&^knownFlags != 0 && !r.bad {
			return nil, nil, turn.Errorf(turn.Newer, "stored block has a message with flags %#x, of a newer version of turnlog", e.flags)
		}
	}
	if r.bad || idBytes+dataBytes != len(r.b) {
		return nil, nil, damagedBlock("stored block has a malformed directory")
	}
	return r.b[:idBytes], r.b[idBytes:], nil
}
