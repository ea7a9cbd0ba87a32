package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// DumpWriter writes a dump, pair by pair.
type DumpWriter struct {
	w   io.Writer
	sum func(uint32, []byte) uint32
	crc uint32
	buf []byte
}

// NewDumpWriter begins a dump, which End ends. The pairs come in a dump's order.
func NewDumpWriter(w io.Writer) (*DumpWriter, error) {
	return newDumpWriter(w, func(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) })
}

func newDumpWriter(w io.Writer, sum func(uint32, []byte) uint32) (*DumpWriter, error) {
	magic := append([]byte(dumpMagic), dumpVersion)
	if _, err := w.Write(magic); err != nil {
		return nil, err
	}
	return &DumpWriter{w: w, sum: sum, crc: sum(0, magic)}, nil
}

// Pair writes a pair, of whose slices it keeps none.
func (c *DumpWriter) Pair(bucket, k, v []byte) error {
	i := slices.IndexFunc(layout.Buckets(), func(name []byte) bool { return string(name) == string(bucket) })
	if i < 0 {
		return fmt.Errorf("dumps have no bucket %q", bucket)
	}
	return c.pair(byte(i), k, v)
}

func (c *DumpWriter) pair(bucket byte, k, v []byte) error {
	c.buf = append(c.buf, bucket)
	c.buf = binary.AppendUvarint(c.buf, uint64(len(k)))
	c.buf = binary.AppendUvarint(c.buf, uint64(len(v)))
	c.buf = append(append(c.buf, k...), v...)
	if len(c.buf) < dumpChunk {
		return nil
	}
	return c.flush()
}

func (c *DumpWriter) flush() error {
	c.crc = c.sum(c.crc, c.buf)
	if err := c.header(len(c.buf)); err != nil {
		return err
	}
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}

func (c *DumpWriter) header(n int) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(n))
	_, err := c.w.Write(binary.LittleEndian.AppendUint32(b, c.crc))
	return err
}

// End writes the dump's end.
func (c *DumpWriter) End() error {
	if len(c.buf) > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.crc = c.sum(c.crc, make([]byte, 4))
	return c.header(0)
}
