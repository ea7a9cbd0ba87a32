package statedump

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/turnlog/turnlog/turn"
)

// Read calls fn with every pair of a dump, whose slices it must not keep.
// It returns nil only if the dump is whole; what follows it is not read, but for a buffer's worth.
func Read(r io.Reader, fn func(bucket []byte, k, v []byte) error) error {
	in := bufio.NewReaderSize(r, chunkBytes)
	head := make([]byte, len(magic)+1)
	if _, err := io.ReadFull(in, head); err != nil {
		return broken(err)
	}
	if string(head[:len(magic)]) != magic {
		return turn.Errorf(turn.Corrupt, "this is not a state dump")
	}
	if v := head[len(magic)]; v != version {
		return turn.Errorf(turn.Newer, "state dump has version %d, this turnlog reads version %d: "+
			"run the newer turnlog", v, version)
	}
	crc := crc32.Checksum(head, castagnoli)
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
		if n > chunkMax {
			return turn.Errorf(turn.Corrupt, "state dump announces a chunk of %d bytes", n)
		}
		var err error
		if buf, err = readChunk(in, buf, int(n)); err != nil {
			return broken(err)
		}
		if crc = crc32.Update(crc, castagnoli, buf); crc != want {
			return turn.Errorf(turn.Corrupt, "state dump fails a checksum")
		}
		if err := SplitPairs(buf, fn); err != nil {
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
		step := min(n-at, max(chunkBytes, at))
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

func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return turn.Errorf(turn.Corrupt, "state dump ends early")
	}
	return fmt.Errorf("read the state dump: %w", err)
}
