package wal

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Run prepares segments before they are needed, and records every MarkInterval how far the log was
// synced. It returns nil when ctx ends or the log is closed, and otherwise the failure that stopped the
// log. While the disk is full, it retries every MarkInterval.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(l.opts.MarkInterval)
	defer tick.Stop()
	l.wakeKeeper()
	full := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-l.done:
			return nil
		case <-l.wake:
			err = l.keepFiles()
		case <-tick.C:
			err = l.Maintain()
		}
		switch {
		case errors.Is(err, ErrClosed):
			return nil
		case errors.Is(err, ErrNoSpace):
			if !full {
				l.opts.Logger.Warn("the log cannot prepare its next segment; appends will fail when the current "+
					"one is full", "error", err)
			}
		case err != nil:
			return err
		}
		full = err != nil
	}
}

func (l *Log) wakeKeeper() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Maintain does once what Run does repeatedly.
func (l *Log) Maintain() error {
	if err := l.setMark(); err != nil {
		return err
	}
	return l.keepFiles()
}

// SaveSpace says whether the disk has better use for the space of spares: then Run removes them, and none are kept but
// the one that is the next segment. It returns at once.
func (l *Log) SaveSpace(save bool) {
	if l.saving.Swap(save) != save || save {
		l.wakeKeeper() // also to try again to prepare a segment
	}
}

// keepFiles makes sure that a segment is ready, and that there are not too many spares.
func (l *Log) keepFiles() error {
	return cmp.Or(l.prepareAhead(), l.dropSpares())
}

// dropSpares removes the spares that are too many.
func (l *Log) dropSpares() error {
	l.admin.Lock()
	defer l.admin.Unlock()
	keep := max(l.spareLimitLocked(), 0)
	if len(l.spares) <= keep {
		return nil
	}
	if err := l.stopped(); err != nil {
		return err
	}
	for _, name := range l.spares[keep:] {
		if err := l.dir.remove(name); err != nil {
			return l.fail("remove", l.dir.path(name), err)
		}
	}
	l.spares = l.spares[:keep]
	return nil
}

// spareLimitLocked returns how many spares are kept. Without a segment that is ready, one of them becomes that.
func (l *Log) spareLimitLocked() int {
	if !l.saving.Load() {
		return l.opts.SpareSegments
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return 1 - len(l.ready)
}

// prepareAhead makes sure that a segment is ready.
func (l *Log) prepareAhead() error {
	l.admin.Lock()
	defer l.admin.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	l.mu.RLock()
	n := len(l.ready)
	l.mu.RUnlock()
	if n > 0 {
		return nil
	}
	return l.prepareLocked()
}

// takeReady returns the next prepared segment and prepares one if there is none. It stays in ready until it is used.
func (l *Log) takeReady() (*segment, error) {
	if err := l.prepareAhead(); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.ready[0], nil // only the writer, who calls this, takes from ready
}
