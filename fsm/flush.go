package fsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// FlushStats describes a flush.
type FlushStats struct {
	Duration time.Duration
	Bytes    int // of changes, as estimated in memory
	Sessions int // keys of every type, written or deleted
	Blocks   int // of messages, and elements, written or deleted
}

// garbageChunk is how many blocks of deleted messages, and elements of deleted
// keys, one flush removes at most.
const garbageChunk = 20_000

// flushRetry is how long a flush that found the disk full waits for its next try.
const flushRetry = time.Second

// Run flushes changes to the store until ctx ends, and a last time then. It
// returns nil after a clean end, or the error that ended the machine.
func (m *Machine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { m.boundResident(ctx, m.cfg.MappedBytes) })
	tick := time.NewTicker(m.cfg.FlushInterval)
	defer tick.Stop()
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return m.Flush(context.WithoutCancel(ctx))
		case <-m.fatal:
			return m.Err()
		case <-m.kick:
		case <-tick.C:
		case <-retry:
		}
		retry = nil
		more, err := m.flush()
		switch {
		case fullDisk(err):
			m.cfg.Logger.Error("no disk space to flush the state; trying again", "dir", m.cfg.Dir, "error", err)
			retry = time.After(flushRetry)
		case err != nil:
			return err
		case more:
			poke(m.kick)
		}
	}
}

// Flush returns once everything that was applied before the call is in the
// store, durably.
func (m *Machine) Flush(ctx context.Context) error {
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

// flush writes one generation to the store. more tells that there is garbage
// left to collect.
func (m *Machine) flush() (more bool, err error) {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.Lock()
	if m.failed != nil {
		// The active table may hold half an entry.
		defer m.mu.Unlock()
		return false, m.failed
	}
	if m.frozen == nil && m.meta.index == m.durable.index && !m.garbage {
		m.mu.Unlock()
		return false, nil
	}
	m.freeze()
	t, db := m.frozen, m.db
	m.mu.Unlock()

	began := time.Now()
	w := writer{table: t, space: newBlockSpace(m.files, m.uses, m.sweep)}
	var unused []uint64
	err = db.Update(func(tx *bbolt.Tx) (err error) {
		w.tx, w.space.bucket = tx, tx.Bucket(bucketBlocks)
		if err := w.write(); err != nil {
			return err
		}
		unused, err = w.space.save(tx.Bucket(bucketFiles), m.uses)
		return err
	})
	if err != nil {
		err = errors.Join(err, m.files.Rollback())
		err = fmt.Errorf("flush the state: %w", err)
		if !fullDisk(err) {
			m.mu.Lock()
			m.fail(err)
			m.mu.Unlock()
		}
		return false, err
	}
	m.uses, m.sweep = w.space.uses, w.space.sweep
	m.removeFiles(unused)
	m.mu.Lock()
	m.frozen = nil
	if t.bytes > 0 {
		m.warm = t
	}
	m.durable = position{t.meta.index, t.meta.term}
	m.garbage = w.garbage
	m.room.Broadcast()
	m.mu.Unlock()
	stats := FlushStats{Duration: time.Since(began), Bytes: t.bytes, Sessions: len(t.heads), Blocks: w.blocks}
	m.cfg.Logger.Debug("flushed the state", "index", t.meta.index, "duration", stats.Duration, "bytes", stats.Bytes,
		"sessions", stats.Sessions, "blocks", stats.Blocks)
	if m.cfg.OnFlush != nil {
		m.cfg.OnFlush(stats)
	}
	if t.hash {
		err = m.hashStore(t.meta.index)
	}
	return w.garbage, err
}

// removeFiles tells the block files that the store has committed, and has no use
// for some.
func (m *Machine) removeFiles(unused []uint64) {
	if err := m.files.Committed(unused); err != nil {
		m.cfg.Logger.Warn("cannot remove a block file that is not needed any more", "error", err)
	}
}

// freeze makes the active table the frozen one, unless one is frozen already:
// a flush failed, and is to be done again. The caller holds mu.
func (m *Machine) freeze() {
	if m.frozen != nil {
		return
	}
	m.active.meta = m.meta
	m.active.meta.tags = m.tags.encode()
	m.frozen, m.active = m.active, newTable()
}

// writer writes a table to the store, in one transaction.
type writer struct {
	tx      *bbolt.Tx
	table   *table
	space   blockSpace
	blocks  int
	garbage bool // there is more than one flush removes
}

func (w *writer) write() error {
	for _, step := range []func() error{
		w.writeTails, w.writeElements, w.writeHeads, w.writeDue, w.writeGraves, w.writeNamespaces, w.collectGarbage, w.cleanFiles, w.writeMeta,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeElements() error {
	b := w.tx.Bucket(bucketElements)
	var err error
	w.table.elements.Scan(func(k string, c change) bool {
		key := []byte(k)
		if t := w.table.tails[binary.BigEndian.Uint64(key)]; t != nil && t.gone {
			return true // garbage already
		}
		w.blocks++
		if c.gone {
			err = b.Delete(key)
		} else {
			err = b.Put(key, sealElement(key, c.value))
		}
		return err == nil
	})
	return err
}

func (w *writer) writeHeads() error {
	b := w.tx.Bucket(bucketHeads)
	var err error
	w.table.keys.Scan(func(key string) bool {
		if h := w.table.heads[key]; h != nil {
			err = b.Put([]byte(key), h.encode(nil))
		} else {
			err = b.Delete([]byte(key))
		}
		return err == nil
	})
	return err
}

func (w *writer) writeDue() error {
	b := w.tx.Bucket(bucketDue)
	var done [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil && string(k) <= w.table.meta.dueFloor; k, _ = c.Next() {
		done = append(done, slices.Clone(k))
	}
	// Not by the cursor: one that deletes may pass over keys.
	for _, k := range done {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	var err error
	w.table.due.Scan(func(k string) bool {
		if k > w.table.meta.dueFloor {
			err = b.Put([]byte(k), nil)
		}
		return err == nil
	})
	return err
}

func (w *writer) writeNamespaces() error {
	b := w.tx.Bucket(bucketNamespaces)
	for _, ns := range slices.Sorted(maps.Keys(w.table.namespaces)) {
		n := w.table.namespaces[ns]
		var err error
		if n == 0 {
			err = b.Delete([]byte(ns))
		} else {
			err = b.Put([]byte(ns), uvarint(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeMeta() error {
	b := w.tx.Bucket(bucketMeta)
	if err := b.Put(keyTags, w.table.meta.tags); err != nil {
		return err
	}
	return b.Put(keyState, w.table.meta.encode())
}

// cleanFiles empties block files of which little is left.
func (w *writer) cleanFiles() error {
	more, err := w.space.clean()
	w.garbage = w.garbage || more
	return err
}
