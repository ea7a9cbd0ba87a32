package store

import (
	"errors"
	"io"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/turn"
)

// Update is a transaction that changes the store. Pairs are changed through it alone: it
// verifies the pages that a change goes to, each once, before bbolt changes them. bbolt makes a
// damaged page into two, of which one is the page as it was before: what that holds is whole, and
// out of date.
type Update struct {
	tx      *bbolt.Tx
	file    pagecheck.File
	bytes   io.ReaderAt     // of the file
	before  *pagecheck.Tree // as the transaction found it; nil: nothing was verified yet
	buckets map[string]*Bucket
	space   blockSpace
	read    reuser
	short   bool // of disk space: see SetSpace
}

// Update changes the store and the block files in one transaction. If that fails, neither
// has changed.
func (s *Store) Update(change func(*Update) error) error {
	u := &Update{file: storeFile(s.Path()), bytes: s.dbFile.Load(), buckets: make(map[string]*Bucket),
		space: newBlockSpace(s.files, s.cache, s.uses, s.sweep, s.worthNow()), short: s.short.Load()}
	var unused []uint64
	var id uint64
	err := s.transact(func(tx *bbolt.Tx) (err error) {
		u.tx, id = tx, uint64(tx.ID())
		if last := s.committed.Load(); id <= last {
			return wentBack(id-1, last)
		}
		u.space.begin(u.Bucket(layout.BucketBlocks))
		if err := change(u); err != nil {
			return err
		}
		unused, err = u.space.save(u.Bucket(layout.BucketFiles), u.Bucket(layout.BucketSums), s.uses)
		return err
	})
	if err != nil {
		return errors.Join(err, s.files.Rollback())
	}
	s.committed.Store(id)
	s.uses, s.sweep = u.space.uses, u.space.sweep
	s.left.Add(-u.space.moved)
	s.RemoveFiles(unused)
	return nil
}

// ShortOfSpace reports whether the disk is short of space: see SetSpace.
func (u *Update) ShortOfSpace() bool { return u.short }

// PutBlock stores a block, which it copies, under a key, in place of what is there.
func (u *Update) PutBlock(key, block []byte) error { return u.space.put(key, block) }

// RemoveBlock removes a block.
func (u *Update) RemoveBlock(key []byte) error { return u.space.remove(key) }

// LastBlock returns the last block with a key up to a key, as the store has it, and the cursor,
// which is there. All is valid until the next block is looked for, put or removed.
func (u *Update) LastBlock(key []byte) (c *bbolt.Cursor, k, v []byte, err error) {
	return u.space.finder.lastUpTo(key)
}

// LoadBlock returns the records of a block, given as the store has it.
func (u *Update) LoadBlock(key, value []byte) ([]layout.Record, error) {
	return loadBlock(u.space.files, nil, key, value)
}

// AppendBlock appends the records of a block to dst. They are valid until it is called again.
func (u *Update) AppendBlock(dst []layout.Record, key, value []byte) ([]layout.Record, error) {
	u.read.from = u.space.files
	return loadBlock(&u.read, dst, key, value)
}

// transact is bbolt's Update. After a panic in it bbolt may hold locks for good.
func (s *Store) transact(change func(*bbolt.Tx) error) error {
	if err := s.rooted(); err != nil {
		return err
	}
	err := Guarded(func() error { return s.db.Update(change) })
	s.stuck = s.stuck || errors.As(err, new(storeFault))
	return err
}

// Bucket returns a bucket of the store, the same each time.
func (u *Update) Bucket(name []byte) *Bucket {
	b := u.buckets[string(name)]
	if b == nil {
		b = &Bucket{update: u, name: name, bucket: u.tx.Bucket(name)}
		u.buckets[string(name)] = b
	}
	return b
}

// Bucket is a bucket in an Update.
type Bucket struct {
	update *Update
	name   []byte
	bucket *bbolt.Bucket
	paths  *pagecheck.Paths // nil: nothing was changed yet
}

func (b *Bucket) Get(key []byte) []byte                    { return b.bucket.Get(key) }
func (b *Bucket) Cursor() *bbolt.Cursor                    { return b.bucket.Cursor() }
func (b *Bucket) ForEach(fn func(k, v []byte) error) error { return b.bucket.ForEach(fn) }

func (b *Bucket) Put(key, value []byte) error {
	if err := b.verify(key, false); err != nil {
		return err
	}
	return b.bucket.Put(key, value)
}

// PutSealed is Put for a value that gets a seal.
func (b *Bucket) PutSealed(key, value []byte) error {
	return b.Put(key, layout.Seal(key, value))
}

// Delete deletes a pair. When bbolt commits, it may merge the page with those beside it.
func (b *Bucket) Delete(key []byte) error {
	if err := b.verify(key, true); err != nil {
		return err
	}
	return b.bucket.Delete(key)
}

// verify verifies the pages that a change of a key goes to. A bad sector is damage, as it is where
// the file is read through its map (see Guarded).
func (b *Bucket) verify(key []byte, neighbours bool) error {
	err := b.verifyPages(key, neighbours)
	if errors.Is(err, syscall.EIO) {
		return turn.Errorf(turn.Corrupt, "%s is damaged: %v", storeName, err)
	}
	return err
}

func (b *Bucket) verifyPages(key []byte, neighbours bool) (err error) {
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
