package fsm

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// A pair whose key was damaged is not found any more, and its checksum not looked at:
// to who asks for it, it does not exist. So all pairs with a seal are read after each
// start, and once a day, and what is damaged ends the machine.
const (
	scrubEvery = 24 * time.Hour
	// scrubBytes are read in one transaction: the store cannot reuse space meanwhile.
	scrubBytes = 1 << 20
	// scrubShare: of the time, the scrub takes one part in so many.
	scrubShare = 5
)

// scrubs scrubs the store until ctx ends.
func (m *Machine) scrubs(ctx context.Context) {
	for {
		began := time.Now()
		if m.scrub(ctx) != nil {
			return
		}
		m.cfg.Logger.Debug("the state file is sound", "duration", time.Since(began))
		if pause(ctx, scrubEvery) != nil {
			return
		}
	}
}

// scrub reads all pairs that have a seal. An error ended the machine, or it, or ctx, ended before.
func (m *Machine) scrub(ctx context.Context) error {
	for _, bucket := range buckets() {
		for from := []byte{}; from != nil; {
			began := time.Now()
			next, err := m.scrubFrom(bucket, from)
			if err != nil {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.fail(err) // changes nothing if it failed before
				return err
			}
			from = next
			if err := pause(ctx, (scrubShare-1)*time.Since(began)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubFrom reads some pairs of a bucket, and returns the key to go on with, nil at its end.
func (m *Machine) scrubFrom(bucket, from []byte) (next []byte, err error) {
	m.mu.RLock()
	if m.failed != nil {
		defer m.mu.RUnlock()
		return nil, m.failed
	}
	tx, err := m.reading()
	m.mu.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("scrub the state: %w", err)
	}
	defer tx.end()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil { // bbolt trusts what it reads
			err = turn.Errorf(turn.Corrupt, "bucket %s of %s is damaged: %v", bucket, storeName, r)
		}
	}()
	read := 0
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(from); k != nil; k, v = c.Next() {
		if read += len(k) + len(v); read > scrubBytes && !bytes.Equal(k, from) {
			return bytes.Clone(k), nil
		}
		if err := checkPair(bucket, k, v); err != nil {
			return nil, fmt.Errorf("scrub bucket %s of %s: %w", bucket, storeName, err)
		}
	}
	return nil, nil
}

// checkPair holds a pair of the store against its seal. A block that stands in the
// store itself has a checksum, too.
func checkPair(bucket, k, v []byte) error {
	switch string(bucket) {
	case string(bucketElements):
		return checkElement(k, v)
	case string(bucketBlocks):
		if len(k) != blockKeySize {
			return turn.Errorf(turn.Corrupt, "the key %x is none of a block", k)
		}
		_, elsewhere, err := decodeRef(k, v)
		if err == nil && !elsewhere {
			_, err = loadBlock(nil, nil, k, v)
		}
		return err
	}
	_, err := dumped(bucket, k, v)
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
