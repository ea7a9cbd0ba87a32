package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/signal"
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
	wg.Go(func() { m.store.BoundResident(ctx, m.cfg.MappedBytes) })
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
		case store.DiskFull(err):
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
	if m.keys.Tables.Frozen == nil && m.keys.Meta.Index == m.durable.index {
		m.mu.Unlock()
		return m.store.WorthTidying(), nil
	}
	m.freeze()
	t := m.keys.Tables.Frozen
	m.mu.Unlock()

	began := time.Now()
	w := memtable.Writer{Table: t, Pacer: store.NewFlushPacer(t.Bytes, began.Sub(m.lastFlush), m.hurry)}
	m.lastFlush = began
	if err := m.commit(w.Write); err != nil {
		return false, err
	}
	m.mu.Lock()
	m.keys.Tables.TakenUp()
	m.durable = position{t.Meta.Index, t.Meta.Term}
	m.room.Broadcast()
	m.mu.Unlock()
	stats := FlushStats{Duration: time.Since(began), Bytes: t.Bytes, Sessions: len(t.Heads), Blocks: w.Blocks}
	m.cfg.Logger.Debug("flushed the state", "index", t.Meta.Index, "duration", stats.Duration, "bytes", stats.Bytes,
		"sessions", stats.Sessions, "blocks", stats.Blocks)
	if m.cfg.OnFlush != nil {
		m.cfg.OnFlush(stats)
	}
	if t.Hash {
		err = m.hashStore(t.Meta.Index)
	}
	return w.Garbage, err
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
	pacer := store.NewTidyPacer(m.hurry)
	err = m.commit(func(u *store.Update) (err error) {
		more, err = u.Tidy(pacer)
		return err
	})
	return more && err == nil, err
}

// commit changes the store and the block files in one transaction. An error ends the
// machine, unless the disk is only full. The caller holds flushing.
func (m *Machine) commit(change func(*store.Update) error) error {
	err := m.store.Update(change)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("flush the state: %w", err)
	if !store.DiskFull(err) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.fail(err)
		err = cmp.Or(m.usable(), err)
	}
	return err
}

// Calm returns when there is room for changes that no client waits for: when no flush is running, or
// the changes since it began are less than half of what makes Apply wait. It returns an error when ctx
// ends or the machine stops.
func (m *Machine) Calm(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock() // so that it comes before Wait, or while waiting
		defer m.mu.Unlock()
		m.room.Broadcast()
	})
	defer stop()
	for m.keys.Tables.Frozen != nil && m.keys.Tables.Active.Bytes >= m.cfg.FlushBytes/2 && m.usable() == nil &&
		ctx.Err() == nil {
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
	return m.usable() != nil || m.keys.Tables.Active.Bytes > m.full/2 || m.keys.Tables.Frozen != nil &&
		m.keys.Tables.Frozen.Hash
}
