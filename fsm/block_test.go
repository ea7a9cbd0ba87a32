package fsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"unsafe"
	"weak"

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

// What is kept of a message keeps nothing of the block that it comes from. Memory is counted
// by what messages have, and a block is much larger than most.
func TestKeptMessageLeavesItsBlock(t *testing.T) {
	for how, keep := range map[string]func(record) record{
		"edited": func(r record) record { return r.edited([]byte("new")) },
		"copied": record.copied,
	} {
		for _, borrowed := range []bool{false, true} {
			for i, what := range []string{"never edited", "edited before"} {
				kept, ids, block := keepOne(t, i, borrowed, keep)
				runtime.GC()
				if ids.Value() != nil {
					t.Errorf("%s, %s, borrowed %t: the ids of its block stay", how, what, borrowed)
				}
				if block.Value() != nil {
					t.Errorf("%s, %s, borrowed %t: its block stays", how, what, borrowed)
				}
				if !kept.carries([]byte("hello")) || kept.id != fmt.Sprintf("%050d", i) {
					t.Errorf("%s, %s, borrowed %t: %+v", how, what, borrowed, kept)
				}
			}
		}
	}
}

// keepOne keeps a message of a block with two, the latter of which was edited, and tells what
// becomes of the memory that the block was read into.
//
//go:noinline
func keepOne(t *testing.T, i int, borrowed bool, keep func(record) record) (kept record, ids, block weak.Pointer[byte]) {
	first := record{seq: 1, id: fmt.Sprintf("%050d", 0), data: []byte("hello")}
	second := record{seq: 2, id: fmt.Sprintf("%050d", 1), data: []byte("hello")}.edited([]byte("other"))
	b := encodeBlock(nil, 1, []record{first, second})
	rs, err := decodeBlock(nil, 1, b, borrowed)
	if err != nil {
		t.Fatal(err)
	}
	return keep(rs[i]), weak.Make(unsafe.StringData(rs[0].id)), weak.Make(&b[0])
}

// One flipped bit of a version that has no checksum is damage; a version that differs in
// more is a newer one.
func TestFlippedVersionIsDamage(t *testing.T) {
	for bit := range 8 {
		err := verifyBlock([]byte{blockVersion ^ 1<<bit, 0, 0, 0, 0, 1})
		if turn.KindOf(err) != turn.Corrupt {
			t.Errorf("block version %d: %v", blockVersion^1<<bit, err)
		}
	}
	if err := verifyBlock([]byte{blockVersion + 1, 0, 0, 0, 0, 1}); turn.KindOf(err) != turn.Newer {
		t.Errorf("the next version of a block: %v", err)
	}
}

func FuzzDecodeBlock(f *testing.F) {
	f.Add(uint64(1), encodeBlock(nil, 1, []record{{seq: 1, time: 5, id: "a", data: []byte("x")}, {seq: 3, side: turn.Head, dead: true, data: make([]byte, digestSize)}}))
	f.Fuzz(func(t *testing.T, first uint64, b []byte) {
		if len(b) >= blockHeader {
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint32(b[1:], checksum(b[blockHeader:]))
		}
		rs, err := decodeBlock(nil, first, b, true)
		if err != nil || len(rs) == 0 {
			return
		}
		again, err := decodeBlock(nil, first, encodeBlock(nil, first, rs), true)
		if err != nil || len(again) != len(rs) {
			t.Fatalf("second round: %v", err)
		}
	})
}
