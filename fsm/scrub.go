package fsm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/store"
)

// Damage is noticed only where something is read, or looked for, by which time other nodes may
// have lost their copy, too; and a damaged head of a page can hide pairs. So all pairs and all blocks are read after
// each start, and once a day. A scrub that fails, as it does while the machine is halted, is tried again after
// scrubRetry, and after twice as long each time, up to scrubRetryMost.
const (
	scrubEvery     = 24 * time.Hour
	scrubRetry     = time.Second
	scrubRetryMost = 10 * time.Minute
)

// scrubs scrubs the store until ctx ends.
func (m *Machine) scrubs(ctx context.Context) {
	var wait time.Duration
	for {
		began := time.Now()
		err := m.scrub(ctx)
		switch {
		case err == nil:
			m.cfg.Logger.Debug("the state file and the block files are intact", "duration", time.Since(began))
		case ctx.Err() != nil || m.Err() != nil:
			return
		}
		wait = nextScrub(err, wait)
		if err != nil && !errors.Is(err, ErrHalted) {
			m.cfg.Logger.Warn("the scrub of the state failed; trying again later", "error", err, "retry_in", wait)
		}
		if m.awaitScrub(ctx, wait) != nil {
			return
		}
	}
}

// awaitScrub waits until the next scrub is to begin: after wait, or when a query has cause to
// doubt the state, but not within scrubRetryMost of the last one.
func (m *Machine) awaitScrub(ctx context.Context, wait time.Duration) error {
	least := min(wait, scrubRetryMost)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(least):
	}
	select {
	case <-ctx.Done():
	case <-m.doubts:
	case <-time.After(wait - least):
	}
	return ctx.Err()
}

// nextScrub returns how long to wait after a scrub that ended with err, before which the wait
// was last.
func nextScrub(err error, last time.Duration) time.Duration {
	switch {
	case err == nil:
		return scrubEvery
	case last == 0 || last == scrubEvery:
		return scrubRetry
	}
	return min(2*last, scrubRetryMost)
}

// scrub reads all pairs that have a seal, and all blocks. It returns an error when it has
// found damage, of which the machine knows then, or when the machine or ctx ended.
func (m *Machine) scrub(ctx context.Context) error {
	err := m.store.Scrub(ctx, m.beginScrub)
	if err != nil {
		m.damaged(err)
	}
	return err
}

// beginScrub begins the transaction in which a part of the store is read.
func (m *Machine) beginScrub() (*store.Reading, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.stopped(); err != nil {
		return nil, err
	}
	tx, err := m.store.Read()
	if err != nil {
		return nil, fmt.Errorf("scrub the state: %w", err)
	}
	return tx, nil
}
