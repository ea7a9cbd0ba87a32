package backup

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/turn"
)

// splitReader brings the dump of a backup whose state is in packs.
type splitReader struct {
	chunks *chunkReader
	packs  []packInfo
	places []byte // of chunks, as a frame has them; those that are not read yet
	buf    []byte // all of the frame
	dump   *statedump.Writer
	out    bytes.Buffer // what dump has written
	taken  int          // bytes at its beginning that next has returned
}

func newSplitReader(ctx context.Context, s Storage) (*splitReader, error) {
	if s == nil {
		return nil, turn.Errorf(turn.Invalid, "this is an incremental backup, whose data are in packs beside it: "+
			"name it by its path in the folder or bucket that it was written to")
	}
	chunks, err := newChunkReader(ctx, s)
	if err != nil {
		return nil, err
	}
	r := &splitReader{chunks: chunks}
	r.dump, err = statedump.NewWriter(&r.out)
	return r, err
}

func (r *splitReader) takePacks(text []byte) error {
	var packs []packInfo
	if err := decode(text, &packs); err != nil {
		return err
	}
	r.packs = append(r.packs, packs...)
	return nil
}

func (r *splitReader) takeChunks(zip *zstd.Decoder, f frame) (err error) {
	if r.buf, err = zip.DecodeAll(f.payload, r.buf[:0]); err != nil || len(r.buf) != f.holds {
		return turn.Errorf(turn.Corrupt, "the backup is damaged: its list of chunks is not what was written: %v", err)
	}
	r.places = r.buf
	return nil
}

// place takes the next place of a chunk.
func (r *splitReader) place() (c place, more bool, err error) {
	if len(r.places) == 0 {
		return c, false, nil
	}
	pack, n := binary.Uvarint(r.places)
	offset, m := binary.Uvarint(r.places[max(n, 0):])
	if n > 0 && m > 0 && pack < uint64(len(r.packs)) && offset < 1<<32 {
		c.pack, c.offset = int(pack), uint32(offset)
		r.places = c.take(r.places[n+m:])
	} else {
		r.places = nil
	}
	if r.places == nil {
		return c, false, turn.Errorf(turn.Corrupt, "the backup is damaged: its list of chunks is malformed")
	}
	return c, true, nil
}

// next returns what the next chunk adds to the dump, which may be nothing yet. It is valid until the call after it.
func (r *splitReader) next() (part []byte, more bool, err error) {
	c, more, err := r.place()
	if err != nil || !more {
		return nil, false, err
	}
	pairs, err := r.chunks.read(r.packs[c.pack].Name, c)
	if err != nil {
		return nil, false, err
	}
	err = statedump.SplitPairs(pairs, r.dump.Pair)
	return r.take(), true, err
}

// end returns the end of the dump.
func (r *splitReader) end() ([]byte, error) {
	err := r.dump.End()
	return r.take(), err
}

// take returns what dump has written since the last call.
func (r *splitReader) take() []byte {
	r.out.Next(r.taken)
	r.taken = r.out.Len()
	return r.out.Bytes()
}
