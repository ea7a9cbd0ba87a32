package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	whole := append(appendHeader(nil, frame{typ: frameRequest, id: 7, tag: 3, payload: []byte("abc")}), "abc"...)
	f.Add(whole)
	f.Add(whole[:9])
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<31))
	f.Add(append(binary.LittleEndian.AppendUint32(nil, 5), whole[4:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 16
		r := bufio.NewReader(bytes.NewReader(b))
		var again []byte
		for {
			fr, err := readFrame(r, limit)
			if err != nil {
				break
			}
			if len(fr.payload) > limit {
				t.Fatalf("payload of %d bytes", len(fr.payload))
			}
			again = append(appendHeader(again, fr), fr.payload...)
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatalf("read %x from %x", again, b)
		}
	})
}

func FuzzHandshake(f *testing.F) {
	f.Add(appendString(appendFacts(nil, Facts{ClusterID: "c", NodeID: "n", Incarnation: "i"}), "n2", maxFact))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		g := fields{b: b}
		facts, meant := g.facts(), g.string(maxFact)
		if g.bad {
			return
		}
		if again := appendString(appendFacts(nil, facts), meant, maxFact); !bytes.HasPrefix(b, again) {
			t.Fatalf("read %x from %x", again, b)
		}
	})
}

// A frame that announces much and brings little must not cost much.
func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	head := appendHeader(nil, frame{typ: frameRequest, id: 1})
	binary.LittleEndian.PutUint32(head, 90<<20)
	allocs := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := readFrame(bufio.NewReaderSize(bytes.NewReader(head), 64), 96<<20); err != io.ErrUnexpectedEOF {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocs > 2*eagerAlloc {
		t.Fatalf("%d bytes allocated", allocs)
	}
}
