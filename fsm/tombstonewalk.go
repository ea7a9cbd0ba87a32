package fsm

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// tombstonesOf walks through the tombstones of a key, latest first.
func (m *Machine) tombstonesOf(tx *store.Reading, key string) *mergeIter[layout.Tombstone] {
	w := &mergeIter[layout.Tombstone]{down: true, low: layout.TombstonePrefix(key),
		high: layout.AfterKey(layout.TombstoneKey(key, m.meta.LastInc))}
	w.readStore(tx, layout.BucketTombstones)
	for _, t := range m.memtables() {
		w.addMemory(&t.tombstones)
	}
	w.seek(w.high)
	return w
}
