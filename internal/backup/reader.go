package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"reflect"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

// Reader reads the dump in a backup. It returns io.EOF only if the backup is whole.
type Reader struct {
	Description Description

	frames frameReader
	zip    *zstd.Decoder
	part   []byte // all of it
	left   []byte // what is not read yet
	sum    hash.Hash
	read   Summary // parts and bytes, so far
	done   *Summary
}

// NewReader begins to read a backup.
func NewReader(r io.Reader) (*Reader, error) {
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
	return b, decode(f.payload, &b.Description)
}

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(v); err != nil {
		return turn.Errorf(turn.Corrupt, "the backup is damaged: %v", err)
	}
	return nil
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

// next takes the next frame.
func (b *Reader) next() error {
	f, err := b.frames.next()
	if err != nil {
		return err
	}
	switch f.kind {
	case kindPart:
		if b.part, err = b.zip.DecodeAll(f.payload, b.part[:0]); err != nil || len(b.part) != f.holds || f.holds == 0 {
			return turn.Errorf(turn.Corrupt, "the backup is damaged: part %d is not what was written: %v",
				b.read.Parts+1, err)
		}
		b.left = b.part
		b.sum.Write(b.part)
		b.read.Parts++
		b.read.Bytes += int64(len(b.part))
		return nil
	case kindEnd:
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
func (b *Reader) Finish(held fsm.DumpContent) (Summary, error) {
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
	found := s
	found.contains(&held)
	if !reflect.DeepEqual(found, s) {
		return s, turn.Errorf(turn.Corrupt, "the backup does not hold what it says: it says %d sessions with %d messages at "+
			"log entry %d, and has %d with %d at entry %d", s.Sessions, s.Messages, s.Index, found.Sessions, found.Messages,
			found.Index)
	}
	return s, nil
}

// Verify reads a whole backup: every checksum, and every pair and block of the dump. It returns what is in it.
func Verify(r io.Reader) (Description, Summary, error) {
	b, err := NewReader(r)
	if err != nil {
		return Description{}, Summary{}, err
	}
	held, err := inspect(b)
	if err != nil {
		return b.Description, Summary{}, err
	}
	s, err := b.Finish(held)
	return b.Description, s, err
}
