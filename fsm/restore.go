package fsm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// restoreName is the file in which a restored state is built.
const restoreName = "state.db.restore"

// restoreBatch is how many bytes of pairs go into one transaction.
const restoreBatch = 32 << 20

// Restore replaces the state by a dump. It takes effect at once or, after an
// error or a crash, not at all. It is called by the goroutine that calls Apply.
func (m *Machine) Restore(r io.Reader) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	building := filepath.Join(m.cfg.Dir, restoreName)
	if err := buildStore(m.cfg.disk, building, r); err != nil {
		_ = os.Remove(building)
		return fmt.Errorf("restore the state: %w", err)
	}
	old, err := m.swapStore(building)
	if err != nil {
		return fmt.Errorf("restore the state: %w", err)
	}
	m.watches.notifyAll()
	// Waits for reads of the old state that are under way.
	return old.Close()
}

// swapStore puts the file building in the place of the store and returns the
// store that was.
func (m *Machine) swapStore(building string) (old *bbolt.DB, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.failed
	}
	if err := m.cfg.disk.rename(building, filepath.Join(m.cfg.Dir, storeName)); err != nil {
		return nil, err
	}
	// From here on the old state is gone: what goes wrong is fatal.
	old = m.db
	if err := m.adoptStore(); err != nil {
		m.fail(err)
		return nil, err
	}
	m.room.Broadcast()
	m.waiters.wake(m.meta.index)
	return old, nil
}

func (m *Machine) adoptStore() error {
	if err := m.cfg.disk.syncDir(m.cfg.Dir); err != nil {
		return err
	}
	db, err := openStore(m.cfg.disk, m.cfg.Dir)
	if err != nil {
		return err
	}
	m.db = db
	return m.load()
}

func buildStore(disk disk, path string, r io.Reader) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := disk.open(path, &bbolt.Options{NoSync: true, InitialMmapSize: mapSize, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	l := loader{db: db}
	err = prepareStore(db)
	if err == nil {
		err = readDump(r, l.put)
	}
	if err == nil {
		err = l.finish()
	}
	l.abandon()
	if err == nil {
		err = disk.sync(db)
	}
	return errors.Join(err, db.Close())
}

// loader puts pairs, which come in order, into a new store.
type loader struct {
	db    *bbolt.DB
	tx    *bbolt.Tx
	bytes int
}

func (l *loader) put(bucket, k, v []byte) error {
	if l.tx != nil && l.bytes > restoreBatch {
		if err := l.finish(); err != nil {
			return err
		}
	}
	if l.tx == nil {
		tx, err := l.db.Begin(true)
		if err != nil {
			return err
		}
		l.tx, l.bytes = tx, 0
	}
	b := l.tx.Bucket(bucket)
	b.FillPercent = 0.95 // pairs come in order: no page will have to take more
	l.bytes += len(k) + len(v)
	return b.Put(append([]byte(nil), k...), append([]byte(nil), v...))
}

func (l *loader) finish() error {
	if l.tx == nil {
		return nil
	}
	err := l.tx.Commit()
	l.tx = nil
	return err
}

func (l *loader) abandon() {
	if l.tx != nil {
		_ = l.tx.Rollback()
	}
}
