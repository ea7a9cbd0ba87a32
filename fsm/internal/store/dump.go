package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A dump is the whole state as a stream:
//
//	8 bytes   "TLSTATE" and the version byte, 1
//	chunks    4 bytes length of the payload, 4 bytes CRC-32C, payload
//	end       4 bytes zero, 4 bytes CRC-32C
//
// Numbers are little endian. Each CRC continues the one before, starting with
// that of the first 8 bytes, so that a chunk that is missing, doubled or moved is
// found; the end's CRC is that of the last chunk, continued over its zero length.
// A payload holds whole pairs:
//
//	1 byte    bucket, by its place in layout.Buckets()
//	uvarint   length of key, length of value; key, value
//
// Pairs come in the order of their buckets, and in each in key order. A block is
// part of its pair; in what files it was is the sender's affair. But for elements,
// pairs have no seals: the chunks' checksums guard them.
const (
	dumpMagic   = "TLSTATE"
	dumpVersion = 1
	// dumpChunk: a chunk ends with the pair that takes it to this size.
	dumpChunk = 256 << 10
	// dumpChunkMax bounds what a reader takes for a chunk: a block holds a
	// message of 8 MiB or more if the limits were raised.
	dumpChunkMax = 1 << 30
)

// castagnoli is the table of a dump's checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
		return d.write(&n, &blank, func(uint32, []byte) uint32 { return 0 }, func(_, _, _ []byte) error { return nil })
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
		return d.write(io.MultiWriter(w, &n), d.tx.pin,
			func(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }, layout.CheckDumped)
	})
	if err != nil {
		d.found(err)
	}
	return int64(n), err
}

func (d *Dump) write(w io.Writer, from blobs, sum func(uint32, []byte) uint32,
	check func(bucket, k, v []byte) error) error {
	c, err := newDumpWriter(w, sum)
	if err != nil {
		return err
	}
	for i, name := range layout.Buckets() {
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
			return c.pair(byte(i), k, v)
		}); err != nil {
			return err
		}
	}
	return c.End()
}

// ReadDump calls fn with every pair of a dump, whose slices it must not keep.
// It returns nil only if the dump is whole; what follows it is not read, but for a buffer's worth.
func ReadDump(r io.Reader, fn func(bucket []byte, k, v []byte) error) error {
	in := bufio.NewReaderSize(r, dumpChunk)
	magic := make([]byte, len(dumpMagic)+1)
	if _, err := io.ReadFull(in, magic); err != nil {
		return broken(err)
	}
	if string(magic[:len(dumpMagic)]) != dumpMagic {
		return turn.Errorf(turn.Corrupt, "this is not a state dump")
	}
	if v := magic[len(dumpMagic)]; v != dumpVersion {
		return turn.Errorf(turn.Newer, "state dump has version %d, this turnlog reads version %d: "+
			"run the newer turnlog", v, dumpVersion)
	}
	crc := crc32.Checksum(magic, castagnoli)
	var buf []byte
	for {
		var header [8]byte
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return broken(err)
		}
		n, want := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
		if n == 0 {
			if crc32.Update(crc, castagnoli, make([]byte, 4)) != want {
				return turn.Errorf(turn.Corrupt, "state dump fails its last checksum")
			}
			return nil
		}
		if n > dumpChunkMax {
			return turn.Errorf(turn.Corrupt, "state dump announces a chunk of %d bytes", n)
		}
		var err error
		if buf, err = readChunk(in, buf, int(n)); err != nil {
			return broken(err)
		}
		if crc = crc32.Update(crc, castagnoli, buf); crc != want {
			return turn.Errorf(turn.Corrupt, "state dump fails a checksum")
		}
		if err := readPairs(buf, fn); err != nil {
			return err
		}
	}
}

// readChunk reads n bytes, into buf if it is big enough, growing it only as
// they arrive.
func readChunk(r io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		at := len(buf)
		step := min(n-at, max(dumpChunk, at))
		if cap(buf) < at+step {
			buf = append(make([]byte, 0, at+step), buf...)
		}
		buf = buf[:at+step]
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func readPairs(b []byte, fn func(bucket []byte, k, v []byte) error) error {
	names := layout.Buckets()
	r := layout.NewReader(b)
	for r.More() {
		i := r.Next(1)[0]
		if int(i) >= len(names) {
			return turn.Errorf(turn.Newer, "state dump has a bucket %d, which this turnlog does not know: "+
				"run the newer turnlog", i)
		}
		kn, vn := r.Count(), r.Count()
		k, v := r.Next(kn), r.Next(vn)
		if !r.OK() {
			return turn.Errorf(turn.Corrupt, "state dump has a malformed pair")
		}
		if err := fn(names[i], k, v); err != nil {
			return err
		}
	}
	return nil
}

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return turn.Errorf(turn.Corrupt, "state dump ends early")
	}
	return fmt.Errorf("read the state dump: %w", err)
}
