package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/turn"
)

// packsOpen is how many packs are read beside each other. The chunks that a backup has of one pack come in
// their order, so that each pack is read once, from its beginning to its end, unless there are more.
const packsOpen = 32

// chunkReader reads chunks from packs.
type chunkReader struct {
	ctx     context.Context
	storage Storage
	zip     *zstd.Decoder
	streams []*packStream // the one that was used last comes last
	stored  []byte
	pairs   []byte
}

// packStream is a pack that is being read.
type packStream struct {
	name string
	in   io.ReadCloser
	at   int64
}

func newChunkReader(ctx context.Context, s Storage) (*chunkReader, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<31))
	return &chunkReader{ctx: ctx, storage: s, zip: zip}, err
}

// read returns a chunk, which is valid until the next call.
func (r *chunkReader) read(pack string, c place) ([]byte, error) {
	err := r.fetch(pack, c)
	if err != nil && r.ctx.Err() == nil { // a stream that was not read for a while may have been closed
		err = r.fetch(pack, c)
	}
	if err != nil {
		return nil, err
	}
	if r.pairs, err = r.zip.DecodeAll(r.stored, r.pairs[:0]); err != nil || len(r.pairs) != int(c.length) ||
		sha256.Sum256(r.pairs) != c.sum {
		return nil, turn.Errorf(turn.Corrupt, "the backup is damaged: the chunk at offset %d of %s is not what was "+
			"written: %v", c.offset, r.storage.Path(pack), err)
	}
	return r.pairs, nil
}

// fetch reads the bytes of a chunk.
func (r *chunkReader) fetch(pack string, c place) error {
	s, err := r.stream(pack, int64(c.offset))
	if err != nil {
		return err
	}
	if cap(r.stored) < int(c.stored) {
		r.stored = make([]byte, c.stored)
	}
	r.stored = r.stored[:c.stored]
	n, err := io.ReadFull(s.in, r.stored)
	s.at += int64(n)
	if err != nil {
		r.streams = r.streams[:len(r.streams)-1]
		err = errors.Join(err, s.in.Close())
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return turn.Errorf(turn.Corrupt, "the backup is damaged: %s is cut short", r.storage.Path(pack))
		}
		return fmt.Errorf("read %s: %w", r.storage.Path(pack), err)
	}
	return nil
}

// stream returns a stream of a pack at an offset, as the last one.
func (r *chunkReader) stream(pack string, offset int64) (*packStream, error) {
	for i, s := range r.streams {
		if s.name != pack {
			continue
		}
		r.streams = append(r.streams[:i], r.streams[i+1:]...)
		if skip := offset - s.at; skip >= 0 && skip <= chunkMax {
			if n, err := io.CopyN(io.Discard, s.in, skip); err == nil {
				s.at += n
				r.streams = append(r.streams, s)
				return s, nil
			}
		}
		_ = s.in.Close() // it is read only
		break
	}
	if len(r.streams) == packsOpen {
		_ = r.streams[0].in.Close()
		r.streams = r.streams[1:]
	}
	in, _, err := r.storage.Read(r.ctx, pack, offset)
	if err != nil {
		return nil, fmt.Errorf("the backup lacks a pack: %w", err)
	}
	s := &packStream{pack, in, offset}
	r.streams = append(r.streams, s)
	return s, nil
}

func (r *chunkReader) close() {
	for _, s := range r.streams {
		_ = s.in.Close()
	}
	r.streams = nil
}
