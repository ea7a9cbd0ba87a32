package layout

import (
	"fmt"
	"testing"
)

// benchBlock is a block as most are: of about 8 KiB.
func benchBlock() []Record {
	rs := make([]Record, 40)
	for i := range rs {
		rs[i] = Record{Seq: uint64(i + 1), Time: int64(1000 + i), ID: fmt.Sprintf("message-%06d", i),
			Data: make([]byte, 180)}
	}
	return rs
}

func BenchmarkEncodeBlock(b *testing.B) {
	rs, buf := benchBlock(), []byte(nil)
	for b.Loop() {
		buf = EncodeBlock(buf, 1, rs)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodeBlock(b *testing.B) {
	block, rs := EncodeBlock(nil, 1, benchBlock()), []Record(nil)
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		var err error
		if rs, err = DecodeBlock(rs[:0], 1, block, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendHead(b *testing.B) {
	h, key, buf := list(), []byte("0\x00session"), []byte(nil)
	h.Meta = nil
	for b.Loop() {
		buf = SealInPlace(key, h.Append(SealBuffer(HeadSize)))
	}
	_ = buf
}

func BenchmarkDecodeHead(b *testing.B) {
	h, key := list(), []byte("0\x00session")
	h.Meta = nil
	stored := SealInPlace(key, h.Append(SealBuffer(HeadSize)))
	for b.Loop() {
		plain, err := Unseal(key, stored, "session")
		if err == nil {
			err = new(Head).Decode(plain)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
