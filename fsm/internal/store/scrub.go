package store

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/turn"
)

const (
	// scrubBytes are read in one transaction: the store cannot reuse space until it ends.
	scrubBytes = 1 << 20
	// scrubShare: of the time, the scrub takes one part in so many.
	scrubShare = 5
	// scrubRate bounds, in bytes a second, what it takes of the disk.
	scrubRate = 32 << 20
)

// Scrub reads all pages of the store, all pairs that have a seal, and all blocks, in parts, each in
// a transaction that begin begins. It returns an error when it has found damage, when begin
// returns one, or when ctx ended.
func (s *Store) Scrub(ctx context.Context, begin func() (*Reading, error)) error {
	if err := s.ScrubPages(ctx, begin); err != nil {
		return err
	}
	pace := newRate(ctx)
	for _, bucket := range layout.Buckets() {
		for from := []byte{}; from != nil; {
			next, read, err := ScrubFrom(begin, bucket, from)
			if err != nil {
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

// ScrubPages reads all pages of the store while it is in use.
func (s *Store) ScrubPages(ctx context.Context, begin func() (*Reading, error)) error {
	part := func() (pagecheck.Transaction, error) {
		tx, err := begin()
		if err != nil {
			return pagecheck.Transaction{}, err
		}
		return pagecheck.Transaction{File: storeFile(s.Path()), ID: uint64(tx.ID()), End: tx.End}, nil
	}
	return pagecheck.NewScan(part, newRate(ctx).rest).Run()
}

// ScrubFrom reads some pairs of a bucket. It returns the key to go on with, nil at the
// bucket's end, and how many bytes it has read.
func ScrubFrom(begin func() (*Reading, error), bucket, from []byte) (next []byte, read int, err error) {
	tx, err := begin()
	if err != nil {
		return nil, 0, err
	}
	defer tx.End()
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
			return turn.Errorf(turn.Corrupt, "the key %x is not that of a block", k)
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
