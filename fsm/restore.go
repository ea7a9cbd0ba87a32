package fsm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// restoreName is the file in which a restored state is built.
const restoreName = "state.db.restore"

// restoreBatch is how many bytes of pairs go into one transaction.
const restoreBatch = 32 << 20

// Restore replaces the state by a dump, which must not end before what is applied. It
// takes effect at once or, after an error or a crash, not at all. It is called by the
// goroutine that calls Apply, or by any while the machine is halted, and halted it stays.
func (m *Machine) Restore(r io.Reader) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	building := filepath.Join(m.cfg.Dir, restoreName)
	m.files.BeginFile() // what is damaged may be in the present one
	built, err := m.buildStore(building, r)
	if err != nil {
		return fmt.Errorf("restore the state: %w", errors.Join(err, m.files.Rollback()))
	}
	old, oldFile, err := m.swapStore(building, built.index)
	if err != nil {
		return fmt.Errorf("restore the state: %w", errors.Join(err, m.files.Rollback()))
	}
	m.removeFiles(built.unused)
	m.watches.notifyAll()
	// Waits for reads of the old state that are in flight.
	err = m.closeStore(old, oldFile)
	m.stuck = false
	return err
}

// swapStore puts the file building, of a state as of index, in the place of the store and
// returns the store that was, with its file.
func (m *Machine) swapStore(building string, index uint64) (old *bbolt.DB, oldFile *os.File, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, nil, m.failed
	}
	if index < m.meta.Index {
		return nil, nil, fmt.Errorf("the dump ends at log entry %d, entry %d is applied", index, m.meta.Index)
	}
	if err := m.cfg.disk.Rename(building, filepath.Join(m.cfg.Dir, storeName)); err != nil {
		return nil, nil, err
	}
	// From here on the old state is gone: what goes wrong is fatal, and the new one keeps its blocks.
	m.removeFiles(nil)
	old, oldFile = m.db, m.dbFile
	m.hash.wanted = 0
	if err := m.adoptStore(); err != nil {
		m.fail(err)
		return nil, nil, err
	}
	m.room.Broadcast()
	m.waiters.wake(m.meta.Index)
	return old, oldFile, nil
}

func (m *Machine) adoptStore() error {
	if err := m.cfg.disk.SyncDir(m.cfg.Dir); err != nil {
		return err
	}
	db, err := openStore(m.cfg.disk, m.cfg.Dir)
	if err != nil {
		return err
	}
	file, err := openFileOf(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	m.db, m.dbFile = db, file
	m.committed.Store(0)
	return m.load()
}

// buildStore makes a store at path out of a dump, its blocks in the block files of
// the present store: until they are committed, that one knows nothing of them.
func (m *Machine) buildStore(path string, r io.Reader) (made built, err error) {
	if err := m.cfg.disk.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return made, err
	}
	db, err := m.cfg.disk.openDB(path,
		&bbolt.Options{NoSync: true, InitialMmapSize: mapSize, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return made, err
	}
	l := loader{db: db, space: newBlockSpace(m.files, nil, nil, sweep{}, worth{})}
	err = readDump(r, l.put)
	if err == nil {
		made.unused, err = l.save(m.uses)
	}
	l.abandon()
	if err == nil {
		err = prepareStore(db) // so that opening it writes nothing
	}
	if err == nil {
		err = db.View(func(tx *bbolt.Tx) error {
			description, _, err := loadMeta(tx)
			made.index = description.Index
			return err
		})
	}
	if err == nil {
		err = m.cfg.disk.syncDB(db)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		_ = m.cfg.disk.Remove(path)
	}
	return made, err
}

// built is a store that buildStore made.
type built struct {
	index  uint64   // of the last entry that it includes
	unused []uint64 // block files that it has no use for
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
