package statedump

import (
	"encoding/binary"
	"hash/crc32"
	"io"
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
	magic   = "TLSTATE"
	version = 1
	// chunkBytes: a chunk ends with the pair that takes it to this size.
	chunkBytes = 256 << 10
	// chunkMax bounds what a reader takes for a chunk: a block holds a
	// message of 8 MiB or more if the limits were raised.
	chunkMax = 1 << 30
)

// castagnoli is the table of a dump's checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a dump, pair by pair. The same pairs always make the same bytes.
type Writer struct {
	w   io.Writer
	sum func(uint32, []byte) uint32
	crc uint32
	buf []byte
}

// NewWriter begins a dump, which End ends. The pairs come in a dump's order.
func NewWriter(w io.Writer) (*Writer, error) {
	return newWriter(w, func(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) })
}

// NewMeasure begins what is as long as a dump whose pairs are as long, with 0 for each checksum.
func NewMeasure(w io.Writer) (*Writer, error) {
	return newWriter(w, func(uint32, []byte) uint32 { return 0 })
}

func newWriter(w io.Writer, sum func(uint32, []byte) uint32) (*Writer, error) {
	head := append([]byte(magic), version)
	if _, err := w.Write(head); err != nil {
		return nil, err
	}
	return &Writer{w: w, sum: sum, crc: sum(0, head)}, nil
}

// Pair writes a pair, of whose slices it keeps none.
func (c *Writer) Pair(bucket, k, v []byte) error {
	var err error
	if c.buf, err = AppendPair(c.buf, bucket, k, v); err != nil || len(c.buf) < chunkBytes {
		return err
	}
	return c.flush()
}

func (c *Writer) flush() error {
	c.crc = c.sum(c.crc, c.buf)
	if err := c.header(len(c.buf)); err != nil {
		return err
	}
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *Writer) header(n int) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(n))
	_, err := c.w.Write(binary.LittleEndian.AppendUint32(b, c.crc))
	return err
}

// End writes the dump's end.
func (c *Writer) End() error {
	if len(c.buf) > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.crc = c.sum(c.crc, make([]byte, 4))
	return c.header(0)
}
