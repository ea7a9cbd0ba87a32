package fsm

import (
	"errors"
	"io"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/turn"
)

// storeUpdate is a transaction that changes the store. Pairs are changed through it alone: it
// verifies the pages that a change goes to, each once, before bbolt changes them. bbolt makes a
// damaged page into two, of which one is the page as it was before: what that holds is whole, and
// out of date.
type storeUpdate struct {
	tx      *bbolt.Tx
	file    pagecheck.File
	bytes   io.ReaderAt     // of the file
	before  *pagecheck.Tree // as the transaction found it; nil: nothing was verified yet
	buckets map[string]*updatedBucket
}

// newStoreUpdate returns an update by tx of the store at path, which r reads.
func newStoreUpdate(tx *bbolt.Tx, path string, r io.ReaderAt) *storeUpdate {
	return &storeUpdate{tx: tx, file: storeFile(path), bytes: r, buckets: make(map[string]*updatedBucket)}
}

// Bucket returns a bucket of the store, the same each time.
func (u *storeUpdate) Bucket(name []byte) *updatedBucket {
	b := u.buckets[string(name)]
	if b == nil {
		b = &updatedBucket{update: u, name: name, bucket: u.tx.Bucket(name)}
		u.buckets[string(name)] = b
	}
	return b
}

// pairs is a bucket in a transaction that changes it.
type pairs interface {
	Get(key []byte) []byte
	Cursor() *bbolt.Cursor
	ForEach(fn func(k, v []byte) error) error
	Put(key, value []byte) error
	Delete(key []byte) error
}

// updatedBucket is a bucket in a storeUpdate.
type updatedBucket struct {
	update *storeUpdate
	name   []byte
	bucket *bbolt.Bucket
	paths  *pagecheck.Paths // nil: nothing was changed yet
}

func (b *updatedBucket) Get(key []byte) []byte                    { return b.bucket.Get(key) }
func (b *updatedBucket) Cursor() *bbolt.Cursor                    { return b.bucket.Cursor() }
func (b *updatedBucket) ForEach(fn func(k, v []byte) error) error { return b.bucket.ForEach(fn) }

func (b *updatedBucket) Put(key, value []byte) error {
	if err := b.verify(key, false); err != nil {
		return err
	}
	return b.bucket.Put(key, value)
}

// Delete deletes a pair. When bbolt commits, it may merge the page with those beside it.
func (b *updatedBucket) Delete(key []byte) error {
	if err := b.verify(key, true); err != nil {
		return err
	}
	return b.bucket.Delete(key)
}

// verify verifies the pages that a change of a key goes to. A bad sector is damage, as it is where
// the file is read through its map; see guarded.
func (b *updatedBucket) verify(key []byte, neighbours bool) error {
	err := b.verifyPages(key, neighbours)
	if errors.Is(err, syscall.EIO) {
		return turn.Errorf(turn.Corrupt, "%s is damaged: %v", storeName, err)
	}
	return err
}

func (b *updatedBucket) verifyPages(key []byte, neighbours bool) (err error) {
	u := b.update
	if u.before == nil {
		if u.before, err = u.file.Tree(u.bytes, uint64(u.tx.ID())-1); err != nil {
			return err
		}
	}
	if b.paths == nil {
		whole := func(k, v []byte) error { return layout.WholePair(b.name, k, v) }
		if b.paths, err = u.before.Paths(b.name, whole); err != nil {
			return err
		}
	}
	return b.paths.Verify(key, neighbours)
}
