package store

import (
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/blockcache"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/turn"
)

// blocksDir is the folder of the block files, beside the store.
const blocksDir = "blocks"

// Reading is a read transaction of the store, with the block files that it refers to.
type Reading struct {
	*bbolt.Tx
	pin    blockfile.Pin
	cache  *blockcache.Cache // nil: blocks are read past it, and not kept
	known  *knownPairs       // nil: none is remembered
	memory borrower
	// lookups are the cursors of get, which it uses again and again: of all but elements, and of these.
	lookups [2]Cursor
}

// Read begins to read the store as of the last update.
func (s *Store) Read() (*Reading, error) {
	if err := s.rooted(); err != nil {
		return nil, err
	}
	pin := s.files.Pin()
	last := s.committed.Load()
	tx, err := s.db.Begin(false)
	if err == nil && uint64(tx.ID()) < last {
		err = wentBack(uint64(tx.ID()), last)
		_ = tx.Rollback()
	}
	if err != nil {
		pin.Release()
		return nil, err
	}
	return &Reading{Tx: tx, pin: pin, cache: s.cache, known: &s.known, memory: borrower{from: &s.spaces}}, nil
}

// wentBack is the error for a file that is not the one that was written last: an older
// copy was put in its place, while it was in use.
func wentBack(has, last uint64) error {
	return turn.Errorf(turn.Corrupt, "%s went back from transaction %d to %d", storeName, last, has)
}

// BypassCache has blocks read past the cache.
func (r *Reading) BypassCache() { r.cache = nil }

// Meta returns the state description, zero if the store is new, and the numbers of commands that
// were applied lately.
func (r *Reading) Meta() (layout.Meta, tags.Set, error) { return loadMeta(r.Tx) }

// Namespaces returns all namespaces, and floors of revisions.
func (r *Reading) Namespaces() (map[string]*layout.Namespace, error) { return loadNamespaces(r.Tx) }

// End ends the transaction: what was borrowed in it is gone.
func (r *Reading) End() {
	_ = r.Rollback() // ends a read; cannot fail
	r.pin.Release()
	r.memory.giveBack()
}

// Load appends the records of a block to dst: from the cache, or read. What is read
// again, after a short time, is put there if keep is set.
func (r *Reading) Load(dst []layout.Record, key, value []byte, keep bool) ([]layout.Record, error) {
	ref, err := layout.DecodeRef(key, value)
	if err != nil || r.cache == nil {
		return loadBlock(r.pin, dst, key, value)
	}
	_, first := layout.SplitBlockKey(key)
	block, ok, again := r.cache.Get(ref, keep)
	if ok {
		dst, err = layout.DecodeVerified(dst, first, block, false)
	} else {
		var buf []byte
		if !again {
			buf = r.memory.blob(ref.Size())
		}
		if block, err = readBlob(r.pin, buf, key, ref); err == nil {
			dst, err = layout.DecodeBlock(dst, first, block, buf != nil)
		}
		if err == nil && again {
			r.cache.Add(ref, block)
		}
	}
	if err != nil {
		return dst, layout.InBlock(err, key)
	}
	return dst, nil
}
