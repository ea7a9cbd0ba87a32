package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/turnlog/turnlog/turn"
)

// A block is read as it was written, with revisions and edited messages, and what this
// version does not know is refused, not passed over.
func TestBlocksTellWhatTheyHold(t *testing.T) {
	plain := Record{Seq: 1, ID: "id", Data: []byte("hello")}
	revised := plain
	revised.Revision = 7
	edited := plain.Edited([]byte("other"))
	inside := plain
	inside.Inside = true
	told := revised
	told.Told = true
	again := told
	again.Notes = &Notes{First: 300}
	replaced := again.Edited([]byte("other"))
	replaced.Notes = &Notes{First: 3, Deleted: true, Call: &Call{Digest: [DigestSize]byte{1, 2}, Before: 500, After: 1}}
	gone := replaced.AsTombstone()
	for name, rec := range map[string]Record{"plain": plain, "with a revision": revised, "edited": edited,
		"inside": inside, "told": told, "with an id of another": again, "in a replace": replaced, "gone": gone} {
		b := EncodeBlock(nil, 1, []Record{rec})
		rs, err := DecodeBlock(nil, 1, b, false)
		if err != nil || !rs[0].Same(&rec) || rs[0].ID != "id" || rs[0].Revision != rec.Revision ||
			rs[0].Inside != rec.Inside || rs[0].Told != rec.Told ||
			!reflect.DeepEqual(rs[0].Notes, rec.Notes) || !rs[0].Carries([]byte("hello")) {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
		const flagsAt = blockHeader + 2 // after the number of records and a seq
		for bit := 7; bit < 8; bit++ {
			b[flagsAt] ^= 1 << bit
			resum(b)
			if rs, err := DecodeBlock(nil, 1, b, false); !turn.Is(err, turn.Newer) {
				t.Errorf("%s, with flag %d: %+v, %v", name, bit, rs, err)
			}
			b[flagsAt] ^= 1 << bit
		}
	}
}

// resum gives a block the checksum that belongs into it.
func resum(b []byte) { binary.LittleEndian.PutUint32(b[1:], blockSum(b)) }

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

// A flipped bit of a block is damage, whichever it is; another version is a newer one.
func TestFlippedBitOfABlockIsDamage(t *testing.T) {
	b := EncodeBlock(nil, 1, []Record{{Seq: 1, ID: "id", Data: []byte("hello")}})
	for at := range b {
		for bit := range 8 {
			b[at] ^= 1 << bit
			if err := verifyBlock(b); turn.KindOf(err) != turn.Corrupt {
				t.Errorf("bit %d of byte %d: %v", bit, at, err)
			}
			b[at] ^= 1 << bit
		}
	}
	for version := range byte(10) {
		b[0] = version
		resum(b)
		want := turn.Newer
		if version < blockVersion {
			want = turn.Corrupt
		}
		if err := verifyBlock(b); version != blockVersion && turn.KindOf(err) != want {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func FuzzDecodeBlock(f *testing.F) {
	f.Add(uint64(1), EncodeBlock(nil, 1,
		[]Record{{Seq: 1, Time: 5, ID: "a", Data: []byte("x")},
			{Seq: 3, Side: turn.Head, Dead: true, Data: make([]byte, DigestSize)}}))
	f.Fuzz(func(t *testing.T, first uint64, b []byte) {
		if len(b) >= blockHeader {
			b = bytes.Clone(b)
			resum(b)
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
