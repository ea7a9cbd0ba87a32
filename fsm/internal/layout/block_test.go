package layout

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
	plain := Record{Seq: 1, ID: "id", Data: []byte("hello")}
	revised := plain
	revised.Revision = 7
	for name, c := range map[string]struct {
		record  Record
		version byte
	}{"plain": {plain, blockVersion}, "with a revision": {revised, revBlockVersion},
		"edited": {plain.Edited([]byte("other")), revBlockVersion}} {
		b := EncodeBlock(nil, 1, []Record{c.record})
		if b[0] != c.version {
			t.Errorf("a block of a message, %s, has version %d, want %d", name, b[0], c.version)
		}
		if rs, err := DecodeBlock(nil, 1, b, false); err != nil || !rs[0].Same(&c.record) || rs[0].ID != "id" {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		const flagsAt = blockHeader + 2 // after the number of records and a seq
		for bit := 4; bit < 8; bit++ {
			b[flagsAt] ^= 1 << bit
			binary.LittleEndian.PutUint32(b[1:], Checksum(b[blockHeader:]))
			if rs, err := DecodeBlock(nil, 1, b, false); !turn.Is(err, turn.Newer) {
				t.Errorf("%s, with flag %d: %+v, %v", name, bit, rs, err)
			}
			b[flagsAt] ^= 1 << bit
		}
	}
}

// Development versions wrote edited messages into blocks of the first version.
func TestEditedMessageInABlockOfTheFirstVersion(t *testing.T) {
	rec := Record{Seq: 1, ID: "id", Data: []byte("hello")}.Edited([]byte("other"))
	b := EncodeBlock(nil, 1, []Record{rec})
	b[0] = blockVersion
	if rs, err := DecodeBlock(nil, 1, b, false); err != nil || !rs[0].Same(&rec) || !rs[0].Carries([]byte("hello")) {
		t.Errorf("%+v, %v", rs, err)
	}
}

// What is kept of a message keeps nothing of the block that it comes from. Memory is counted
// by what messages have, and a block is much larger than most.
func TestKeptMessageLeavesItsBlock(t *testing.T) {
	for how, keep := range map[string]func(Record) Record{
		"edited": func(r Record) Record { return r.Edited([]byte("new")) },
		"copied": Record.Copied,
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
				if !kept.Carries([]byte("hello")) || kept.ID != fmt.Sprintf("%050d", i) {
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
func keepOne(t *testing.T, i int, borrowed bool,
	keep func(Record) Record) (kept Record, ids, block weak.Pointer[byte]) {
	first := Record{Seq: 1, ID: fmt.Sprintf("%050d", 0), Data: []byte("hello")}
	second := Record{Seq: 2, ID: fmt.Sprintf("%050d", 1), Data: []byte("hello")}.Edited([]byte("other"))
	b := EncodeBlock(nil, 1, []Record{first, second})
	rs, err := DecodeBlock(nil, 1, b, borrowed)
	if err != nil {
		t.Fatal(err)
	}
	return keep(rs[i]), weak.Make(unsafe.StringData(rs[0].ID)), weak.Make(&b[0])
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
	f.Add(uint64(1), EncodeBlock(nil, 1,
		[]Record{{Seq: 1, Time: 5, ID: "a", Data: []byte("x")},
			{Seq: 3, Side: turn.Head, Dead: true, Data: make([]byte, DigestSize)}}))
	f.Fuzz(func(t *testing.T, first uint64, b []byte) {
		if len(b) >= blockHeader {
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint32(b[1:], Checksum(b[blockHeader:]))
		}
		rs, err := DecodeBlock(nil, first, b, true)
		if err != nil || len(rs) == 0 {
			return
		}
		again, err := DecodeBlock(nil, first, EncodeBlock(nil, first, rs), true)
		if err != nil || len(again) != len(rs) {
			t.Fatalf("second round: %v", err)
		}
	})
}
