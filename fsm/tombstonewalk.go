package fsm

import "encoding/binary"

// tombstonePrefix is a NUL, which no namespace begins with, the length of the key, and the
// key: so the tombstones of a key are together, in the order of deletion.
func tombstonePrefix(key string) string {
	b := make([]byte, 0, 1+4+len(key))
	return string(append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(key))), key...))
}

// tombstoneKey returns the key of a tombstone: the prefix of its key, and the incarnation.
func tombstoneKey(key string, inc uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(tombstonePrefix(key)), inc))
}

// tombstonesOf walks through the tombstones of a key, latest first.
func (m *Machine) tombstonesOf(tx *reading, key string) *mergeIter[tombstone] {
	w := &mergeIter[tombstone]{down: true, low: tombstonePrefix(key), high: afterKey(tombstoneKey(key, m.meta.lastInc))}
	w.readStore(tx, bucketTombstones)
	for _, t := range m.memtables() {
		w.addMemory(&t.tombstones)
	}
	w.seek(w.high)
	return w
}
