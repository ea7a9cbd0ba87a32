package wal

import (
	"context"
	"errors"
	"time"
)

// Run prepares segments before they are needed, and records from time to time how far the log was synced. It returns
// nil when ctx ends or the log is closed, and the failure that stopped the log otherwise. While the disk is full it
// tries again every MarkInterval.
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
			err = l.prepareAhead()
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

// Maintain does once what Run does again and again.
func (l *Log) Maintain() error {
	if err := l.setMark(); err != nil {
		return err
	}
	return l.prepareAhead()
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
