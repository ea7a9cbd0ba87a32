package memtable

import (
	"cmp"
	"maps"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// writeTombstones records the deleted sessions whose ids are remembered, and what is
// to be removed of the deleted ones, now or when they are forgotten.
func (w *Writer) writeTombstones() error {
	b := w.tx.Bucket(layout.BucketTombstones)
	type ended struct {
		when      int64
		tombstone string
	}
	gone := make(map[uint64]ended)
	for inc, t := range w.Table.tails {
		if t.gone {
			gone[inc] = ended{}
		}
	}
	var err error
	w.Table.tombstones.Scan(func(key string, g layout.Tombstone) bool {
		gone[g.Inc] = ended{g.Deadline, key}
		err = b.PutSealed([]byte(key), g.Encode())
		return err == nil
	})
	// In the order of the garbage: bbolt splits a page when it commits, and what
	// comes in between of many on it moves them all.
	incs := slices.SortedFunc(maps.Keys(gone), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(gone[a].when, gone[b].when), cmp.Compare(a, b))
	})
	for _, inc := range incs {
		if err == nil {
			err = w.tx.AddGarbage(gone[inc].when, inc,
				layout.Waste{Below: layout.MaxSeq, Tombstone: gone[inc].tombstone})
			w.Pacer.Did(smallCost)
		}
	}
	return err
}

// writeFloors notes what is to be removed of streams that were trimmed.
func (w *Writer) writeFloors() error {
	for _, inc := range slices.Sorted(maps.Keys(w.Table.floors)) {
		if err := w.tx.AddGarbage(0, inc, layout.Waste{Names: w.Table.floors[inc]}); err != nil {
			return err
		}
		w.Pacer.Did(smallCost)
	}
	return nil
}
