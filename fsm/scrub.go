package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/turn"
)

// Damage is noticed only where something is read, or looked for, by which time other nodes may
// have lost their copy, too; and a damaged head of a page can hide pairs. So all pairs and all blocks are read after
// each start, and once a day. A scrub that fails, as it does while the machine is halted, is tried again after
// scrubRetry, and after twice as long each time, up to scrubRetryMost.
const (
	scrubEvery     = 24 * time.Hour
	scrubRetry     = time.Second
	scrubRetryMost = 10 * time.Minute
	// scrubBytes are read in one transaction: the store cannot reuse space until it ends.
	scrubBytes = 1 << 20
	// scrubShare: of the time, the scrub takes one part in so many.
	scrubShare = 5
	// scrubRate bounds, in bytes a second, what it takes of the disk.
	scrubRate = 32 << 20
)

// scrubs scrubs the store until ctx ends.
func (m *Machine) scrubs(ctx context.Context) {
	var wait time.Duration
	for {
		began := time.Now()
		err := m.scrub(ctx)
		switch {
		case err == nil:
			m.cfg.Logger.Debug("the state file and the block files are sound", "duration", time.Since(began))
		case ctx.Err() != nil || m.Err() != nil:
			return
		}
		wait = nextScrub(err, wait)
		if err != nil && !errors.Is(err, ErrHalted) {
			m.cfg.Logger.Warn("the state could not be scrubbed: it is tried again", "error", err, "retry_in", wait)
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
	if err := pause(ctx, least); err != nil {
		return err
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
	if err := m.scrubPages(ctx); err != nil {
		m.damaged(err)
		return err
	}
	pace := newRate(ctx)
	for _, bucket := range layout.Buckets() {
		for from := []byte{}; from != nil; {
			next, read, err := m.scrubFrom(bucket, from)
			if err != nil {
				m.damaged(err)
				return err
			}
			from = next
			if err := pace.rest(uint64(read)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubPages reads all pages of the store while it is in use.
func (m *Machine) scrubPages(ctx context.Context) error {
	return pagecheck.NewScan(m.beginScan, newRate(ctx).rest).Run()
}

// beginScan begins the transaction in which a part of the pages is read.
func (m *Machine) beginScan() (pagecheck.Transaction, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.stopped(); err != nil {
		return pagecheck.Transaction{}, err
	}
	tx, err := m.reading()
	if err != nil {
		return pagecheck.Transaction{}, err
	}
	return pagecheck.Transaction{File: storeFile(m.db.Path()), ID: uint64(tx.ID()), End: tx.end}, nil
}

// scrubFrom reads some pairs of a bucket. It returns the key to go on with, nil at the
// bucket's end, and how many bytes it has read.
func (m *Machine) scrubFrom(bucket, from []byte) (next []byte, read int, err error) {
	m.mu.RLock()
	if err := m.stopped(); err != nil {
		defer m.mu.RUnlock()
		return nil, 0, err
	}
	tx, err := m.reading()
	m.mu.RUnlock()
	if err != nil {
		return nil, 0, fmt.Errorf("scrub the state: %w", err)
	}
	defer tx.end()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil { // bbolt trusts what it reads
			err = turn.Errorf(turn.Corrupt, "bucket %s of %s is damaged: %v", bucket, storeName, r)
		}
	}()
	blocks := reuser{from: tx.pin}
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(from); k != nil; k, v = c.Next() {
		if read > scrubBytes {
			return bytes.Clone(k), read, nil
		}
		read += len(k) + len(v)
		if string(bucket) == string(layout.BucketBlocks) {
			read += layout.BlockSize(k, v)
		}
		if err := checkPair(&blocks, bucket, k, v); err != nil {
			return nil, read, fmt.Errorf("scrub bucket %s of %s: %w", bucket, storeName, err)
		}
	}
	return nil, read, nil
}

// checkPair holds a pair of the store against its seal, and the block that it refers to
// against its checksum.
func checkPair(from blobs, bucket, k, v []byte) error {
	switch string(bucket) {
	case string(layout.BucketElements):
		return layout.CheckElement(k, v)
	case string(layout.BucketBlocks):
		if len(k) != layout.BlockKeySize {
			return turn.Errorf(turn.Corrupt, "the key %x is none of a block", k)
		}
		block, err := wholeBlock(from, k, v)
		if err == nil {
			err = layout.CheckBlock(k, block)
		}
		return err
	}
	_, err := layout.Dumped(bucket, k, v)
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
