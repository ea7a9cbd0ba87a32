package store

import (
	"errors"
	"io"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/statedump"
)

// restoreName is the file in which a restored state is built.
const restoreName = "state.db.restore"

// restoreBatch is how many bytes of pairs go into one transaction.
const restoreBatch = 32 << 20

// Build makes a state out of a dump, beside the one that the store has: its blocks are in the
// same files, but until they are committed, the store knows nothing of them. It is put into the
// place of the other by Replace and Reopen, or given up by Discard.
func (s *Store) Build(r io.Reader) (made Built, err error) {
	s.files.BeginFile() // what is damaged may be in the present one
	if made, err = s.buildAt(filepath.Join(s.Dir, restoreName), r); err != nil {
		return made, errors.Join(err, s.Discard())
	}
	return made, nil
}

// Discard gives up what Build made.
func (s *Store) Discard() error { return s.files.Rollback() }

// Replace puts the state that Build made into the place of the store's, which is gone then. It
// takes effect when the store is reopened, and durably.
func (s *Store) Replace() error {
	if err := s.Disk.Rename(filepath.Join(s.Dir, restoreName), s.Path()); err != nil {
		return err
	}
	s.RemoveFiles(nil) // the blocks are those of the new state
	return nil
}

// Reopen has the store use the state that is in its place. It returns the former one, which is
// still open for those that read it; Load comes next.
func (s *Store) Reopen() (old io.Closer, err error) {
	if err := s.Disk.SyncDir(s.Dir); err != nil {
		return nil, err
	}
	db, mapped, err := openBolt(s.Disk, s.Dir)
	if err != nil {
		return nil, err
	}
	file, err := openFileOf(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	old = s.current()
	s.db, s.stuck = db, false
	s.dbFile.Store(file)
	s.mapped.Store(mapped)
	s.committed.Store(0)
	return old, nil
}

func (s *Store) buildAt(path string, r io.Reader) (made Built, err error) {
	if err := removeUnfinished(s.Disk, s.Dir); err != nil {
		return made, err
	}
	db, err := s.Disk.OpenDB(path,
		&bbolt.Options{NoSync: true, InitialMmapSize: leastMap, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return made, err
	}
	l := loader{db: db, space: newBlockSpace(s.files, nil, nil, sweep{}, worth{})}
	err = statedump.Read(r, l.put)
	if err == nil {
		made.Unused, err = l.save(s.uses)
	}
	l.abandon()
	if err == nil {
		err = prepareStore(db) // so that opening it writes nothing
	}
	if err == nil {
		err = db.View(func(tx *bbolt.Tx) error {
			description, _, err := loadMeta(tx)
			made.Index = description.Index
			return err
		})
	}
	if err == nil {
		err = s.Disk.SyncDB(db)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		_ = s.Disk.Remove(path)
	}
	return made, err
}

// Built is a state that Build made.
type Built struct {
	Index  uint64   // of the last entry that it includes
	Unused []uint64 // block files that it has no use for
}

// loader puts pairs, which come in order, into a new store.
type loader struct {
	db    *bbolt.DB
	tx    *bbolt.Tx
	space blockSpace
	bytes int
}

func (l *loader) put(bucket, k, v []byte) error {
	if err := layout.CheckDumped(bucket, k, v); err != nil {
		return err
	}
	b, err := l.bucket(bucket)
	if err != nil {
		return err
	}
	l.bytes += len(k) + len(v)
	if string(bucket) == string(layout.BucketBlocks) {
		l.space.begin(b)
		return l.space.put(slices.Clone(k), v)
	}
	return b.Put(slices.Clone(k), layout.Restored(bucket, k, v))
}

// bucket returns a bucket in a transaction that is not too big yet.
func (l *loader) bucket(name []byte) (*bbolt.Bucket, error) {
	if l.tx != nil && l.bytes > restoreBatch {
		if err := l.finish(); err != nil {
			return nil, err
		}
	}
	if l.tx == nil {
		tx, err := l.db.Begin(true)
		if err != nil {
			return nil, err
		}
		l.tx, l.bytes = tx, 0
	}
	b, err := l.tx.CreateBucketIfNotExists(name)
	if err != nil {
		return nil, err
	}
	b.FillPercent = 0.95 // pairs come in order: no page will have to take more
	return b, nil
}

// save ends the loading.
func (l *loader) save(before uses) (unused []uint64, err error) {
	account, err := l.bucket(layout.BucketFiles)
	if err != nil {
		return nil, err
	}
	sums, err := l.bucket(layout.BucketSums)
	if err != nil {
		return nil, err
	}
	if unused, err = l.space.save(account, sums, before); err != nil {
		return nil, err
	}
	return unused, l.finish()
}

func (l *loader) finish() error {
	err := l.tx.Commit()
	l.tx = nil
	return err
}

func (l *loader) abandon() {
	if l.tx != nil {
		_ = l.tx.Rollback()
	}
}
