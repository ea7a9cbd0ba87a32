package store

import (
	"io"
	"slices"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/statedump"
)

// Dump is a consistent copy of the state to be written out. It must be closed.
type Dump struct {
	Index, Term uint64 // of the last entry that it includes
	Size        int64  // of the stream, in bytes
	tx          *Reading
	found       func(error) // is told of errors
}

// NewDump returns the state as of a reading, which it ends. It tells found of errors.
func NewDump(tx *Reading, found func(error)) (*Dump, error) {
	d := &Dump{tx: tx, found: found}
	var meta layout.Meta
	err := Guarded(func() (err error) {
		meta, _, err = loadMeta(tx.Tx)
		return err
	})
	if err == nil {
		d.Index, d.Term = meta.Index, meta.Term
		d.Size, err = d.size()
	}
	if err != nil {
		tx.End()
		return nil, err
	}
	return d, nil
}

type countingWriter int64

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

// Close releases the copy.
func (d *Dump) Close() error {
	d.tx.End()
	return nil
}

// size measures the stream without reading the blocks.
func (d *Dump) size() (int64, error) {
	var n countingWriter
	var blank lengths
	err := Guarded(func() error {
		out, err := statedump.NewMeasure(&n)
		if err != nil {
			return err
		}
		return d.write(out, &blank, func(_, _, _ []byte) error { return nil })
	})
	return int64(n), err
}

// lengths answers with blobs of the right length.
type lengths []byte

func (l *lengths) Read(_, _ []byte, ref blockfile.Ref) ([]byte, error) {
	*l = slices.Grow((*l)[:0], ref.Length)
	return (*l)[:ref.Length], nil
}

// WriteTo writes the stream, Size bytes of it. Every pair is held against its checksum
// before it is written: a receiver of a dump that was written whole has no damaged data.
func (d *Dump) WriteTo(w io.Writer) (int64, error) {
	n := countingWriter(0)
	err := Guarded(func() error {
		out, err := statedump.NewWriter(io.MultiWriter(w, &n))
		if err != nil {
			return err
		}
		return d.write(out, d.tx.pin, layout.CheckDumped)
	})
	if err != nil {
		d.found(err)
	}
	return int64(n), err
}

func (d *Dump) write(out *statedump.Writer, from blobs, check func(bucket, k, v []byte) error) error {
	for _, name := range layout.Buckets() {
		isBlocks := string(name) == string(layout.BucketBlocks)
		if err := d.tx.Bucket(name).ForEach(func(k, v []byte) (err error) {
			if isBlocks {
				v, err = wholeBlock(from, k, v)
			} else {
				v, err = layout.Dumped(name, k, v)
			}
			if err == nil {
				err = check(name, k, v)
			}
			if err != nil {
				return err
			}
			return out.Pair(name, k, v)
		}); err != nil {
			return err
		}
	}
	return out.End()
}
