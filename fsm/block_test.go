package fsm

import (
	"encoding/binary"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// What a block holds beyond what the first version knew is told by its version, and what
// this one does not know is refused, not passed over.
func TestBlocksTellWhatTheyHold(t *testing.T) {
	plain := record{seq: 1, id: "id", data: []byte("hello")}
	revised := plain
	revised.revision = 7
	for name, c := range map[string]struct {
		record  record
		version byte
	}{"plain": {plain, blockVersion}, "with a revision": {revised, revBlockVersion}, "edited": {plain.edited([]byte("other")), revBlockVersion}} {
		b := encodeBlock(nil, 1, []record{c.record})
		if b[0] != c.version {
			t.Errorf("a block of a message, %s, has version %d, want %d", name, b[0], c.version)
		}
		if rs, err := decodeBlock(nil, 1, b, false); err != nil || !rs[0].same(&c.record) || rs[0].id != "id" {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		const flagsAt = blockHeader + 2 // after the number of records and a seq
		for bit := 4; bit < 8; bit++ {
			b[flagsAt] ^= 1 << bit
			binary.LittleEndian.PutUint32(b[1:], checksum(b[blockHeader:]))
			if rs, err := decodeBlock(nil, 1, b, false); !turn.Is(err, turn.Newer) {
				t.Errorf("%s, with flag %d: %+v, %v", name, bit, rs, err)
			}
			b[flagsAt] ^= 1 << bit
		}
	}
}

// Development versions wrote edited messages into blocks of the first version.
func TestEditedMessageInABlockOfTheFirstVersion(t *testing.T) {
	rec := record{seq: 1, id: "id", data: []byte("hello")}.edited([]byte("other"))
	b := encodeBlock(nil, 1, []record{rec})
	b[0] = blockVersion
	if rs, err := decodeBlock(nil, 1, b, false); err != nil || !rs[0].same(&rec) || !rs[0].carries([]byte("hello")) {
		t.Errorf("%+v, %v", rs, err)
	}
}
