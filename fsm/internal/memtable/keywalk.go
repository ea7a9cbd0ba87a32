package memtable

import (
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// keyWalk walks through the keys of the memtables and the store in order, as of one moment. It
// is valid while mu and the transaction are held.
type keyWalk struct {
	mergeIter[struct{}]
	tables []*Table // newest first
}

// KeysWith returns a walk through the keys that begin with prefix.
func (t *Tables) KeysWith(tx *store.Reading, prefix string) *keyWalk {
	w := &keyWalk{tables: t.all()}
	w.low, w.high = prefix, layout.PrefixEnd(prefix)
	w.readStore(tx, layout.BucketHeads)
	for _, table := range w.tables {
		w.addMemory(table.Order.Walk())
	}
	return w
}

// Head returns the head of the key that the walk is at, nil if it was deleted.
func (w *keyWalk) Head() (*Head, error) {
	if w.source != inStore {
		return w.tables[w.source].Heads[w.Key], nil
	}
	return openHead(w.stored())
}
