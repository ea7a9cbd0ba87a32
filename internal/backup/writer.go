package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/turn"
)

// writer makes a backup of a dump that is written to it.
type writer struct {
	frames frameWriter
	zip    *zstd.Encoder
	part   []byte
	packed []byte
	sum    hash.Hash
	done   Summary
}

func newWriter(w io.Writer, d Description) (*writer, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(partBytes))
	if err != nil {
		return nil, err
	}
	b := &writer{frames: frameWriter{w: w}, zip: zip, part: make([]byte, 0, partBytes), sum: sha256.New()}
	if err := b.frames.begin(wholeVersion); err != nil {
		return nil, err
	}
	return b, b.frames.json(kindDescription, d)
}

func (b *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := copy(b.part[len(b.part):cap(b.part)], p)
		b.part = b.part[:len(b.part)+k]
		p, n = p[k:], n+k
		if len(b.part) == cap(b.part) {
			if err := b.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (b *writer) flush() error {
	if len(b.part) == 0 {
		return nil
	}
	b.sum.Write(b.part)
	b.packed = b.zip.EncodeAll(b.part, b.packed[:0])
	b.done.Parts++
	b.done.Bytes += int64(len(b.part))
	err := b.frames.write(frame{kindPart, len(b.part), b.packed})
	b.part = b.part[:0]
	return err
}

// finish writes the end of a backup whose dump has that content.
func (b *writer) finish(c statedump.Content) (Summary, error) {
	if err := b.flush(); err != nil {
		return Summary{}, err
	}
	b.done.SHA256 = hex.EncodeToString(b.sum.Sum(nil))
	b.done.contains(&c)
	return b.done, b.frames.json(kindEnd, &b.done)
}

// Write writes a backup of a dump, which it verifies on the way: every checksum, every pair, and that it
// is what its description says. After an error what was written is no backup, and cannot be taken for one.
func Write(w io.Writer, d Description, dump io.Reader) (Summary, error) {
	b, err := newWriter(w, d)
	if err != nil {
		return Summary{}, err
	}
	content, err := inspect(io.TeeReader(dump, b))
	if err != nil {
		return Summary{}, err
	}
	if err := d.describes(&content, b.done.Bytes+int64(len(b.part))); err != nil {
		return Summary{}, err
	}
	return b.finish(content)
}

// inspect reads a dump to the end of what it is read from.
func inspect(r io.Reader) (statedump.Content, error) {
	content, err := statedump.Inspect(r)
	if err != nil {
		return content, err
	}
	if n, err := io.Copy(io.Discard, r); n > 0 || err != nil {
		return content, errors.Join(err, turn.Errorf(turn.Corrupt, "%d bytes follow the state's dump", n))
	}
	return content, nil
}

// describes is an error unless a dump is what the description says.
func (d *Description) describes(c *statedump.Content, size int64) error {
	if c.Index != d.Index || c.ClusterID != d.ClusterID || size != d.Bytes {
		return fmt.Errorf("the dump is of cluster %.64q at log entry %d, %d bytes; announced were "+
			"cluster %.64q, entry %d, %d bytes",
			c.ClusterID, c.Index, size, d.ClusterID, d.Index, d.Bytes)
	}
	return nil
}
