package backup

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/turnlog/turnlog/turn"
)

const (
	magic = "TLBACKU"
	// wholeVersion is the version of a backup that has its state in itself, and splitVersion of one whose state is in
	// the packs of its storage.
	wholeVersion = 1
	splitVersion = 2

	kindDescription = 'D'
	kindPart        = 'P'
	kindPacks       = 'K'
	kindChunks      = 'C'
	kindEnd         = 'E'

	// partBytes is how much of a dump a part holds at most. A damaged length is refused before memory is
	// taken for it.
	partBytes = 1 << 20
	// frameMax bounds the payload of a frame: a part that does not compress is a little longer than the dump's.
	frameMax = partBytes + partBytes/8

	headerSize = 1 + 4 + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is a frame of a backup. What it holds has holds bytes.
type frame struct {
	kind    byte
	holds   int
	payload []byte
}

// frameWriter writes frames.
type frameWriter struct {
	w   io.Writer
	crc uint32
	buf []byte
}

func (f *frameWriter) begin(version byte) error {
	b := append([]byte(magic), version)
	f.crc = crc32.Checksum(b, castagnoli)
	_, err := f.w.Write(b)
	return err
}

func (f *frameWriter) write(x frame) error {
	b := append(f.buf[:0], x.kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(x.payload)))
	b = binary.LittleEndian.AppendUint32(b, uint32(x.holds))
	f.crc = crc32.Update(crc32.Update(f.crc, castagnoli, b), castagnoli, x.payload)
	b = binary.LittleEndian.AppendUint32(b, f.crc)
	f.buf = append(b, x.payload...)
	_, err := f.w.Write(f.buf)
	return err
}

// json writes a frame that holds JSON.
func (f *frameWriter) json(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(frame{kind, len(text), text})
}

// frameReader reads frames.
type frameReader struct {
	r       io.Reader
	version byte
	crc     uint32
	buf     []byte
	read    int64 // bytes, so far
}

func (f *frameReader) begin() error {
	b := make([]byte, len(magic)+1)
	n, err := io.ReadFull(f.r, b)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read the backup: %w", err)
	case n < len(b) || string(b[:len(magic)]) != magic:
		return turn.Errorf(turn.Corrupt, "this is not a backup: it does not begin with %s", magic)
	case b[len(magic)] > splitVersion:
		return turn.Errorf(turn.Newer, "the backup has version %d, this turnlog reads versions up to %d: "+
			"run the newer turnlog", b[len(magic)], splitVersion)
	case b[len(magic)] < wholeVersion:
		return turn.Errorf(turn.Corrupt, "the backup has the unknown version %d", b[len(magic)])
	}
	f.version, f.read = b[len(magic)], int64(len(b))
	f.crc = crc32.Checksum(b, castagnoli)
	return nil
}

// next returns the next frame. Its payload is valid until the one after it is read.
func (f *frameReader) next() (frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(f.r, h[:]); err != nil {
		return frame{}, cut(err)
	}
	n, holds := binary.LittleEndian.Uint32(h[1:]), binary.LittleEndian.Uint32(h[5:])
	if n > frameMax || holds > partBytes {
		return frame{}, turn.Errorf(turn.Corrupt, "the backup is damaged: it announces a frame of %d bytes for %d", n,
			holds)
	}
	if cap(f.buf) < int(n) {
		f.buf = make([]byte, n)
	}
	f.buf = f.buf[:n]
	if _, err := io.ReadFull(f.r, f.buf); err != nil {
		return frame{}, cut(err)
	}
	f.crc = crc32.Update(crc32.Update(f.crc, castagnoli, h[:headerSize-4]), castagnoli, f.buf)
	if f.crc != binary.LittleEndian.Uint32(h[headerSize-4:]) {
		return frame{}, turn.Errorf(turn.Corrupt, "the backup is damaged: a frame fails its checksum")
	}
	f.read += int64(headerSize) + int64(n)
	return frame{h[0], int(holds), f.buf}, nil
}

// end is an error unless nothing follows.
func (f *frameReader) end() error {
	n, err := io.ReadFull(f.r, make([]byte, 1))
	switch {
	case n > 0:
		return turn.Errorf(turn.Corrupt, "the backup is damaged: something follows its end")
	case errors.Is(err, io.EOF):
		return nil
	}
	return fmt.Errorf("read the backup: %w", err)
}

// cut returns the error of a read that should have come to more.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return turn.Errorf(turn.Corrupt, "the backup is cut short: its end is missing")
	}
	return fmt.Errorf("read the backup: %w", err)
}

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return turn.Errorf(turn.Corrupt, "the backup is damaged: %v", err)
	}
	return nil
}
