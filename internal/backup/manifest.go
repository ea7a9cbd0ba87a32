package backup

import (
	"context"
	"encoding/binary"
	"encoding/json"

	"github.com/klauspost/compress/zstd"

	"github.com/turnlog/turnlog/turn"
)

// packsPerFrame is how many packs a frame names at most, so that it is within frameMax.
const packsPerFrame = 1000

// manifest is what a backup says whose state is in packs.
type manifest struct {
	about  Description
	packs  []packInfo
	places []place
	holds  Summary
}

// write writes a manifest.
func (m *manifest) write(w *frameWriter, zip *zstd.Encoder) error {
	if err := w.begin(splitVersion); err != nil {
		return err
	}
	if err := w.json(kindDescription, &m.about); err != nil {
		return err
	}
	for packs := m.packs; len(packs) > 0; {
		n := min(len(packs), packsPerFrame)
		if err := w.json(kindPacks, packs[:n]); err != nil {
			return err
		}
		packs = packs[n:]
	}
	var raw, packed []byte
	for i := range m.places {
		raw = appendPlace(raw, &m.places[i])
		if i < len(m.places)-1 && len(raw) < partBytes-binary.MaxVarintLen64*4-len(digest{}) {
			continue
		}
		packed = zip.EncodeAll(raw, packed[:0])
		if err := w.write(frame{kindChunks, len(raw), packed}); err != nil {
			return err
		}
		raw = raw[:0]
	}
	return w.json(kindEnd, &m.holds)
}

// appendPlace appends a place as a frame has it; splitReader.place reads it.
func appendPlace(b []byte, c *place) []byte {
	b = binary.AppendUvarint(b, uint64(c.pack))
	b = binary.AppendUvarint(b, uint64(c.offset))
	b = binary.AppendUvarint(b, uint64(c.stored))
	b = binary.AppendUvarint(b, uint64(c.length))
	return append(b, c.sum[:]...)
}

// readManifest reads a manifest to its end, and none of the chunks.
func readManifest(ctx context.Context, s Storage, name string) (*manifest, error) {
	r, err := Open(ctx, s, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := &manifest{about: r.Description}
	if r.split == nil {
		return nil, turn.Errorf(turn.Corrupt, "%s has its state in itself, and should not", s.Path(name))
	}
	for {
		f, err := r.frames.next()
		if err != nil {
			return nil, err
		}
		switch f.kind {
		case kindPacks:
			err = r.split.takePacks(f.payload)
		case kindChunks:
			if err = r.split.takeChunks(r.zip, f); err == nil {
				err = m.gather(r.split)
			}
		case kindEnd:
			m.packs = r.split.packs
			if err := json.Unmarshal(f.payload, &m.holds); err != nil {
				return nil, turn.Errorf(turn.Corrupt, "the backup is damaged: %v", err)
			}
			return m, r.frames.end()
		default:
			err = turn.Errorf(turn.Newer, "the backup has a frame of kind %q, which this turnlog does not know", f.kind)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readPacks reads which packs a backup needs: the frames that say so come before those of the chunks.
func readPacks(ctx context.Context, s Storage, name string) ([]packInfo, error) {
	r, err := Open(ctx, s, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.split == nil {
		return nil, turn.Errorf(turn.Corrupt, "%s has its state in itself, and should not", s.Path(name))
	}
	for {
		f, err := r.frames.next()
		if err != nil || f.kind != kindPacks {
			return r.split.packs, err
		}
		if err := r.split.takePacks(f.payload); err != nil {
			return nil, err
		}
	}
}

func (m *manifest) gather(r *splitReader) error {
	for {
		c, more, err := r.place()
		if err != nil || !more {
			return err
		}
		m.places = append(m.places, c)
	}
}
