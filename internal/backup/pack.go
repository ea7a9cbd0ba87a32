package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/turn"
)

const (
	packDir = "packs"
	packExt = ".tlp"

	packMagic   = "TLCHUNK"
	packVersion = 1
	// packBytes: a pack ends with the chunk that takes it to this size.
	packBytes = 16 << 20
	// packTrailer is the length of the index's length and checksum, with which a pack ends.
	packTrailer = 8
)

// isPack reports whether a pack may have that name.
func isPack(name string) bool { return strings.HasSuffix(name, packExt) }

// digest is the SHA-256 of a chunk, by which it is known.
type digest [sha256.Size]byte

// place is where a chunk is.
type place struct {
	pack   int    // its number in a list of packs
	offset uint32 // in the pack
	stored uint32 // bytes there, compressed
	length uint32
	sum    digest
}

// packInfo is a pack as a manifest names it.
type packInfo struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// packBuffer is a pack that is being filled.
type packBuffer struct {
	name  string
	buf   []byte
	index []byte
}

func newPack() *packBuffer {
	name := path.Join(packDir, identity.RandomID()+packExt)
	return &packBuffer{name: name, buf: append([]byte(packMagic), packVersion)}
}

// add appends a chunk, and returns its place, in pack 0.
func (p *packBuffer) add(zip *zstd.Encoder, pairs []byte, sum digest) place {
	at := len(p.buf)
	p.buf = zip.EncodeAll(pairs, p.buf)
	c := place{offset: uint32(at), stored: uint32(len(p.buf) - at), length: uint32(len(pairs)), sum: sum}
	p.index = binary.AppendUvarint(p.index, uint64(c.stored))
	p.index = binary.AppendUvarint(p.index, uint64(c.length))
	p.index = append(p.index, sum[:]...)
	return c
}

// end returns the whole pack.
func (p *packBuffer) end() []byte {
	p.buf = append(p.buf, p.index...)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, uint32(len(p.index)))
	sum := crc32.Checksum(p.buf[len(p.buf)-len(p.index)-4:], castagnoli)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, sum)
	return p.buf
}

// readIndex returns the places of the chunks in a pack, in their order.
func readIndex(ctx context.Context, s Storage, p packInfo) (all []place, err error) {
	damaged := func(why string) error { return turn.Errorf(turn.Corrupt, "%s is damaged: %s", s.Path(p.Name), why) }
	if p.Size < int64(len(packMagic))+1+packTrailer {
		return nil, damaged("it is cut short")
	}
	end, err := readAt(ctx, s, p.Name, p.Size-packTrailer, packTrailer)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > p.Size-packTrailer-int64(len(packMagic))-1 {
		return nil, damaged("its index is longer than it is")
	}
	index, err := readAt(ctx, s, p.Name, p.Size-packTrailer-n, n)
	if err != nil {
		return nil, err
	}
	if crc32.Update(crc32.Checksum(index, castagnoli), castagnoli, end[:4]) != binary.LittleEndian.Uint32(end[4:]) {
		return nil, damaged("its index fails its checksum")
	}
	at := int64(len(packMagic)) + 1
	for len(index) > 0 {
		c := place{offset: uint32(at)}
		if index = c.take(index); index == nil {
			return nil, damaged("its index is malformed")
		}
		at += int64(c.stored)
		all = append(all, c)
	}
	if at != p.Size-packTrailer-n {
		return nil, damaged("its index is not that of its chunks")
	}
	return all, nil
}

// take reads lengths and digest of a chunk, and returns what follows; nil: it is malformed.
func (c *place) take(b []byte) []byte {
	stored, n := binary.Uvarint(b)
	if n <= 0 || stored > 1<<31 {
		return nil
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || length > 1<<31 || len(b) < n+m+len(c.sum) {
		return nil
	}
	c.stored, c.length = uint32(stored), uint32(length)
	copy(c.sum[:], b[n+m:])
	return b[n+m+len(c.sum):]
}

// readAt reads n bytes of an object from an offset.
func readAt(ctx context.Context, s Storage, name string, offset, n int64) ([]byte, error) {
	in, _, err := s.Read(ctx, name, offset)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, n))
	if err == nil && int64(len(b)) < n {
		err = turn.Errorf(turn.Corrupt, "%s is cut short", s.Path(name))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Path(name), err)
	}
	return b, nil
}
