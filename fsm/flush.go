package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/internal/signal"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// FlushStats describes a flush.
type FlushStats struct {
	Duration time.Duration
	Bytes    int // of changes, as estimated in memory
	Sessions int // keys of every type, written or deleted
	Blocks   int // of messages, and elements, written or deleted
}

// flushRetry is how long a flush that found the disk full waits for its next try.
const flushRetry = time.Second

// Run flushes changes to the store until ctx ends, and a last time then, unless ctx was
// cancelled with a cause: then the store is left as a crash would leave it. It returns
// nil after a clean end, or the error that ended the machine.
func (m *Machine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { m.boundResident(ctx, m.cfg.MappedBytes) })
	wg.Go(func() { m.scrubs(ctx) })
	defer context.AfterFunc(ctx, func() { m.hurries.Add(1) })()
	tick := time.NewTicker(m.cfg.FlushInterval)
	defer tick.Stop()
	var retry <-chan time.Time
	untidy := signal.New()
	for {
		work := m.flush
		select {
		case <-ctx.Done():
			if context.Cause(ctx) != ctx.Err() {
				return nil
			}
			if err := m.Flush(context.WithoutCancel(ctx)); !errors.Is(err, ErrHalted) {
				return err
			}
			return nil
		case <-m.fatal:
			return m.Err()
		case <-m.kick:
		case <-tick.C:
		case <-retry:
		case <-untidy:
			work = m.tidy
		}
		retry = nil
		more, err := work()
		switch {
		case fullDisk(err):
			m.cfg.Logger.Error("no disk space to flush the state; trying again", "dir", m.cfg.Dir, "error", err)
			retry = time.After(flushRetry)
		case errors.Is(err, ErrHalted): // until the state is replaced
		case err != nil:
			return err
		case more:
			untidy.Notify()
		}
	}
}

// Flush returns once everything that was applied before the call is in the
// store, durably.
func (m *Machine) Flush(ctx context.Context) error {
	m.hurries.Add(1)
	defer m.hurries.Add(-1)
	target, _ := m.Applied()
	for {
		if done, _ := m.Durable(); done >= target {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := m.flush(); err != nil {
			return err
		}
	}
}

// flush writes one memtable to the store. more tells that there is garbage
// left to collect.
func (m *Machine) flush() (more bool, err error) {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.Lock()
	if err := m.usable(); err != nil {
		// The active memtable may hold half an entry.
		defer m.mu.Unlock()
		return false, err
	}
	if m.frozen == nil && m.meta.Index == m.durable.index {
		m.mu.Unlock()
		return m.short.Load() && m.uses.sparsest(math.MaxUint64, m.worthNow()) != 0, nil
	}
	m.freeze()
	t := m.frozen
	m.mu.Unlock()

	began := time.Now()
	w := m.writer(t)
	w.pacer = newFlushPacer(t.bytes, began.Sub(m.lastFlush), m.hurry)
	m.lastFlush = began
	if err := m.commit(w, w.write); err != nil {
		return false, err
	}
	m.mu.Lock()
	m.frozen = nil
	if t.bytes > 0 {
		m.warm = t
	}
	m.durable = position{t.meta.Index, t.meta.Term}
	m.room.Broadcast()
	m.mu.Unlock()
	stats := FlushStats{Duration: time.Since(began), Bytes: t.bytes, Sessions: len(t.heads), Blocks: w.blocks}
	m.cfg.Logger.Debug("flushed the state", "index", t.meta.Index, "duration", stats.Duration, "bytes", stats.Bytes,
		"sessions", stats.Sessions, "blocks", stats.Blocks)
	if m.cfg.OnFlush != nil {
		m.cfg.OnFlush(stats)
	}
	if t.hash {
		err = m.hashStore(t.meta.Index)
	}
	return w.garbage, err
}

// tidy removes garbage, a bounded amount, and nothing else: a memtable that has
// only begun is left to gather more. A halted machine does not.
func (m *Machine) tidy() (more bool, err error) {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.RLock()
	err = m.usable()
	m.mu.RUnlock()
	if err != nil {
		return false, err
	}
	w := m.writer(newMemtable())
	w.pacer = newTidyPacer(m.hurry)
	err = m.commit(w, func() (err error) {
		if w.table.meta, _, err = loadMeta(w.tx.tx); err != nil {
			return err
		}
		w.space.giveUpCurrent()
		if err := w.collectGarbage(); err != nil {
			return err
		}
		return w.space.clean()
	})
	return w.garbage && err == nil, err
}

// commit changes the store and the block files in one transaction. An error ends the
// machine, unless the disk is only full. The caller holds flushing.
func (m *Machine) commit(w *writer, change func() error) error {
	var unused []uint64
	var id uint64
	err := m.update(func(tx *bbolt.Tx) (err error) {
		w.tx, id = newStoreUpdate(tx, m.db.Path(), m.dbFile), uint64(tx.ID())
		if last := m.committed.Load(); id <= last {
			return wentBack(id-1, last)
		}
		w.space.begin(w.tx.Bucket(layout.BucketBlocks))
		if err := change(); err != nil {
			return err
		}
		w.garbage = w.untidy()
		unused, err = w.space.save(w.tx.Bucket(layout.BucketFiles), w.tx.Bucket(layout.BucketSums), m.uses)
		return err
	})
	if err != nil {
		err = fmt.Errorf("flush the state: %w", errors.Join(err, m.files.Rollback()))
		if !fullDisk(err) {
			m.mu.Lock()
			m.fail(err)
			err = cmp.Or(m.usable(), err)
			m.mu.Unlock()
		}
		return err
	}
	m.committed.Store(id)
	m.uses, m.sweep = w.space.uses, w.space.sweep
	m.left.Add(-w.space.moved)
	m.removeFiles(unused)
	return nil
}

// update is bbolt's Update. After a panic in it bbolt may hold locks for good.
func (m *Machine) update(change func(*bbolt.Tx) error) error {
	if err := m.rooted(); err != nil {
		return err
	}
	err := guarded(func() error { return m.db.Update(change) })
	m.stuck = m.stuck || errors.As(err, new(storeFault))
	return err
}

// closeStore closes a store, unless bbolt would wait for ever for what a damaged one left
// locked: then its file stays open until the process ends.
func (m *Machine) closeStore(db *bbolt.DB, file *os.File) error {
	_ = file.Close() // it was only asked for its size
	if m.stuck {
		return nil
	}
	return db.Close()
}

// removeFiles tells the block files that the store has committed, and has no use
// for some.
func (m *Machine) removeFiles(unused []uint64) {
	if err := m.files.Committed(unused); err != nil {
		m.cfg.Logger.Warn("cannot remove a block file that is not needed any more", "error", err)
	}
}

// Calm returns when there is room for changes that no client waits for: when no flush
// is running, or what has gathered since it began is less than half of what makes Apply
// wait. It returns an error when ctx ends or the machine stops.
func (m *Machine) Calm(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock() // so that it comes before Wait, or while waiting
		defer m.mu.Unlock()
		m.room.Broadcast()
	})
	defer stop()
	for m.frozen != nil && m.active.bytes >= m.cfg.FlushBytes/2 && m.usable() == nil && ctx.Err() == nil {
		m.room.Wait()
	}
	return cmp.Or(m.usable(), ctx.Err())
}

// hurry reports whether a running flush should be over soon.
func (m *Machine) hurry() bool {
	if m.hurries.Load() > 0 {
		return true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.usable() != nil || m.active.bytes > m.full/2 || m.frozen != nil && m.frozen.hash
}

// freeze makes the active memtable the frozen one, unless one is frozen already:
// a flush failed, and is to be done again. The caller holds mu.
func (m *Machine) freeze() {
	if m.frozen != nil {
		return
	}
	m.active.meta = m.meta
	m.active.tags = m.tags.Share()
	m.frozen = m.active
	m.beginMemtable()
}

// beginMemtable makes an empty active memtable, and decides how full it may become. The
// caller holds mu.
func (m *Machine) beginMemtable() {
	m.active = newMemtable()
	m.full = m.cfg.FlushBytes - int(m.cfg.Rand()*float64(m.cfg.FlushBytes)/3)
}
