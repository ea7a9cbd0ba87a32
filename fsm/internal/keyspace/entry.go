package keyspace

import (
	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

// Load takes the keys over from the store, as of a transaction, and forgets what is in memory.
func (ks *Keys) Load(tx *store.Reading, meta layout.Meta) error {
	byName, err := tx.Namespaces()
	if err != nil {
		return err
	}
	ks.Meta = meta
	ks.namespaces.take(byName)
	ks.Tables.Forget()
	ks.fault = nil
	ks.Gaps = gaps.Set{}
	ks.tx = tx
	ks.nextDue, err = ks.firstDue()
	ks.tx = nil
	return err
}

// BeginEntry begins an entry with its stamp: it advances the cluster time, and deletes keys that
// are due by then, a bounded number.
func (ks *Keys) BeginEntry(stamp int64) error {
	ks.Meta.Clock = max(ks.Meta.Clock, stamp)
	if err := ks.expireDue(DueChunk); err != nil {
		return err
	}
	ks.Allowance.BeginEntry()
	return ks.fault
}
