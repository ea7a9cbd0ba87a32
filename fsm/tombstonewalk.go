package fsm

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// The tombstone of a session is kept under a prefix, which is that of its key, and its
// incarnation.

// tombstonePrefix is a NUL, which no namespace begins with, the length of the key, and the
// key: so the tombstones of a key are together, in the order of deletion.
func tombstonePrefix(key string) string {
	b := make([]byte, 0, 1+4+len(key))
	return string(append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(key))), key...))
}

// oldTombstonePrefix is what tombstonePrefix was before turn.Level1. Names may hold NULs:
// tombstones of longer keys can be between those of one key, any number of them.
func oldTombstonePrefix(key string) string { return key + "\x00" }

// tombstoneKey returns the key of a tombstone that is added now.
func (m *Machine) tombstoneKey(key string, inc uint64) string {
	prefix := tombstonePrefix(key)
	if m.level() < turn.Level1 {
		prefix = oldTombstonePrefix(key)
	}
	return withInc(prefix, inc)
}

func withInc(prefix string, inc uint64) string {
	b := make([]byte, 0, len(prefix)+incSize)
	return string(binary.BigEndian.AppendUint64(append(b, prefix...), inc))
}

// tombstoneWalk goes through the tombstones under a prefix, latest first.
type tombstoneWalk struct {
	mergeIter[tombstone]
	looks int // at the sources, by which a test knows how long it takes
}

func (m *Machine) tombstonesOf(tx *reading, prefix string) *tombstoneWalk {
	w := new(tombstoneWalk)
	w.down, w.low, w.high = true, prefix, afterKey(withInc(prefix, m.meta.lastInc))
	w.readStore(tx, bucketTombstones)
	for _, t := range m.memtables() {
		w.addMemory(&t.tombstones)
	}
	w.seek(w.high)
	return w
}

// next goes to the next tombstone of the key. Of the old form, those of other keys can begin with
// the prefix, too. Those of longer keys it leaves out many at a time: what they have in place of an
// incarnation is higher than all that come next.
func (w *tombstoneWalk) next() bool {
	size := len(w.low) + incSize
	for w.looks++; w.mergeIter.next(); w.looks++ {
		if len(w.key) == size {
			return true
		}
		if w.meet(); len(w.key) > size {
			w.seek(afterKey(w.key[:size]))
		}
	}
	return false
}
