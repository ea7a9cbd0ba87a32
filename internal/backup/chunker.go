package backup

import (
	"hash/crc32"

	"github.com/turnlog/turnlog/fsm/statedump"
)

const (
	// chunkMin, chunkMean and chunkMax are how many bytes of pairs a chunk has: at least; about; and at most, but
	// for a single pair that is longer, or the last chunk of a backup, which may be short.
	chunkMin, chunkMean, chunkMax = 16 << 10, 64 << 10, 1 << 20
)

// chunker cuts a state into chunks, which emit gets and must not keep. Where it cuts depends on the keys
// there, and not on what comes before: a change of the state changes the chunks around it, and no others.
type chunker struct {
	buf  []byte
	emit func(pairs []byte) error
}

func (c *chunker) pair(bucket, k, v []byte) (err error) {
	before := len(c.buf)
	if c.buf, err = statedump.AppendPair(c.buf, bucket, k, v); err != nil {
		return err
	}
	if n := len(c.buf); n < chunkMax && (n < chunkMin || !isCut(bucket, k, n-before)) {
		return nil
	}
	return c.flush()
}

func (c *chunker) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	err := c.emit(c.buf)
	c.buf = c.buf[:0]
	return err
}

// isCut reports whether a chunk ends with a pair of so many bytes: one in so many that chunks have about chunkMean.
func isCut(bucket, k []byte, size int) bool {
	sum := crc32.Update(crc32.Checksum(bucket, castagnoli), castagnoli, k)
	return uint64(sum) < uint64(size)*(1<<32/chunkMean)
}
