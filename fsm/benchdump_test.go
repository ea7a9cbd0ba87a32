package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A dump of many small sessions with metadata: heads and references are most of the work.
func BenchmarkDump(b *testing.B) {
	r := newRig(b)
	for at := 0; at < 20_000; at += 1000 {
		var ops []turn.Op
		for i := range 1000 {
			key := turn.Key{Namespace: "0", Name: fmt.Sprintf("%06d", at+i)}
			ops = append(ops, appendOf(key, "id", "hello"),
				&turn.SetMetadata{Key: key, Set: map[string]string{"agent": "a", "model": "m"}})
		}
		r.apply(1, ops...)
	}
	dump := r.dump()
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(dump)))
		for b.Loop() {
			r.dump()
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(dump)))
		for b.Loop() {
			if err := r.m.Restore(bytes.NewReader(dump)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
