package codec

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// BenchmarkEntry packs 64 appends, which are encoded already, into a log entry,
// and takes it apart again.
func BenchmarkEntry(b *testing.B) {
	op, err := EncodeOp(&turn.Append{Key: turn.Key{Namespace: "0", Name: "session:12345"},
		Messages: []turn.NewMessage{{ID: "0123456789abcdef", Data: make([]byte, 512)}}})
	if err != nil {
		b.Fatal(err)
	}
	commands := make([]Command, 64)
	for i := range commands {
		commands[i] = Command{Origin: 1, Number: uint64(i + 1), Op: op}
	}
	entry := AppendEntry(nil, 1, commands)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(entry)))
		b.ReportAllocs()
		for b.Loop() {
			entry = AppendEntry(entry[:0], 1, commands)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(entry)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeEntry(entry); err != nil {
				b.Fatal(err)
			}
		}
	})
}
