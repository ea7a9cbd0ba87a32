package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/turn"
)

// Reader reads the dump in a backup. It returns io.EOF only if the backup is whole. It must be closed.
type Reader struct {
	Description Description

	frames frameReader
	split  *splitReader // nil: the backup has its state in itself
	zip    *zstd.Decoder
	part   []byte // all of it
	left   []byte // what is not read yet
	sum    hash.Hash
	read   Summary // parts and bytes, so far
	done   *Summary

	in      io.Closer    // nil: it is the caller's
	brought atomic.Int64 // bytes of the dump
}

// NewReader begins to read a backup that has its state in itself.
func NewReader(r io.Reader) (*Reader, error) { return newReader(context.Background(), r, nil) }

// Open begins to read a backup in a storage. Its end is that of all reads.
func Open(ctx context.Context, s Storage, name string) (*Reader, error) {
	in, _, err := s.Read(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	r, err := newReader(ctx, in, s)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	r.in = in
	return r, nil
}

func newReader(ctx context.Context, r io.Reader, s Storage) (*Reader, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(partBytes),
		zstd.WithDecoderMaxWindow(partBytes))
	if err != nil {
		return nil, err
	}
	b := &Reader{frames: frameReader{r: r}, zip: zip, sum: sha256.New()}
	if err := b.frames.begin(); err != nil {
		return nil, err
	}
	f, err := b.frames.next()
	if err != nil {
		return nil, err
	}
	if f.kind != kindDescription {
		return nil, turn.Errorf(turn.Corrupt, "the backup is damaged: it does not describe itself")
	}
	if err := decode(f.payload, &b.Description); err != nil {
		return nil, err
	}
	if b.frames.version == splitVersion {
		b.split, err = newSplitReader(ctx, s)
	}
	return b, err
}

// Brought returns how many bytes of the dump, of Description.Bytes, were read from the backup. It may be called
// concurrently with Read.
func (b *Reader) Brought() int64 { return b.brought.Load() }

// FileBytes returns how many bytes were read of the backup's own file, packs not included: its length at the end.
func (b *Reader) FileBytes() int64 { return b.frames.read }

// Close ends the reading.
func (b *Reader) Close() error {
	if b.split != nil {
		b.split.chunks.close()
	}
	if b.in == nil {
		return nil
	}
	return b.in.Close()
}

// Read implements io.Reader, for the dump.
func (b *Reader) Read(p []byte) (int, error) {
	for len(b.left) == 0 {
		if b.done != nil {
			return 0, io.EOF
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// bring makes the next part of the dump available.
func (b *Reader) bring(part []byte) {
	b.left = part
	b.brought.Add(int64(len(part)))
	b.sum.Write(part)
	b.read.Parts++
	b.read.Bytes += int64(len(part))
}

// next takes the next frame, or the next chunk that one names.
func (b *Reader) next() error {
	if b.split != nil {
		if part, more, err := b.split.next(); err != nil || more {
			b.bring(part)
			return err
		}
	}
	f, err := b.frames.next()
	if err != nil {
		return err
	}
	switch {
	case f.kind == kindPart && b.split == nil:
		if b.part, err = b.zip.DecodeAll(f.payload, b.part[:0]); err != nil || len(b.part) != f.holds || f.holds == 0 {
			return turn.Errorf(turn.Corrupt, "the backup is damaged: part %d is not what was written: %v",
				b.read.Parts+1, err)
		}
		b.bring(b.part)
		return nil
	case f.kind == kindPacks && b.split != nil:
		return b.split.takePacks(f.payload)
	case f.kind == kindChunks && b.split != nil:
		return b.split.takeChunks(b.zip, f)
	case f.kind == kindEnd:
		return b.end(f.payload)
	}
	return turn.Errorf(turn.Newer, "the backup has a frame of kind %q, which this turnlog does not know: run the "+
		"newer turnlog", f.kind)
}

// end holds what was read against the Summary.
func (b *Reader) end(text []byte) error {
	var s Summary
	if err := decode(text, &s); err != nil {
		return err
	}
	if b.split != nil {
		last, err := b.split.end()
		if err != nil {
			return err
		}
		b.left = last // of all chunks
		b.sum.Write(last)
		b.read.Bytes += int64(len(last))
	}
	if s.Parts != b.read.Parts || s.Bytes != b.read.Bytes || s.SHA256 != hex.EncodeToString(b.sum.Sum(nil)) {
		return turn.Errorf(turn.Corrupt, "the backup is damaged: its parts are not those that it counts")
	}
	if err := b.frames.end(); err != nil {
		return err
	}
	b.done = &s
	return nil
}

// Finish reads to the end, where the dump must have ended already, and returns what the backup says of
// itself there. It is an error unless that, and the description, are what the dump held.
func (b *Reader) Finish(held statedump.Content) (Summary, error) {
	n, err := io.Copy(io.Discard, b)
	if err != nil {
		return Summary{}, err
	}
	if n > 0 {
		return Summary{}, turn.Errorf(turn.Corrupt, "the backup is damaged: %d bytes follow the state's dump", n)
	}
	s := *b.done
	if err := b.Description.describes(&held, s.Bytes); err != nil {
		return s, turn.Errorf(turn.Corrupt, "%v", err)
	}
	if what := s.disagrees(&held); what != "" {
		return s, turn.Errorf(turn.Corrupt, "the backup does not hold what it says: %s", what)
	}
	return s, nil
}

// Verify reads a whole backup: every checksum, and every pair and block of the dump. It returns what is in it.
func Verify(r io.Reader) (Description, Summary, error) {
	b, err := NewReader(r)
	if err != nil {
		return Description{}, Summary{}, err
	}
	defer b.Close()
	return b.Verify()
}

// Verify reads all of a backup: every checksum, and every pair and block of the dump. It returns what is in it.
func (b *Reader) Verify() (Description, Summary, error) {
	held, err := inspect(b)
	if err != nil {
		return b.Description, Summary{}, err
	}
	s, err := b.Finish(held)
	return b.Description, s, err
}
