package resp

import (
	"io"
	"strings"
	"testing"
)

// again reads the same text for ever.
type again struct {
	text string
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}

// BenchmarkRequest parses an append of one message of 512 bytes.
func BenchmarkRequest(b *testing.B) {
	in := request("TURN.APPEND", "session:12345", "MSG", "0123456789abcdef01234567", strings.Repeat("x", 512))
	r := NewRequestReader(&again{text: in}, Limits{})
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// twenty writes a reply of twenty messages of 512 bytes.
func twenty(w *Writer, payload []byte) {
	w.Array(20)
	for seq := range 20 {
		w.Array(4)
		w.Int(int64(seq + 1))
		w.Int(1_790_000_000_000)
		w.BulkString("0123456789abcdef01234567")
		w.Bulk(payload)
	}
}

// BenchmarkReply writes and reads a reply of twenty messages.
func BenchmarkReply(b *testing.B) {
	payload := make([]byte, 512)
	b.Run("write", func(b *testing.B) {
		w := NewWriter(io.Discard)
		b.ReportAllocs()
		for b.Loop() {
			twenty(w, payload)
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		var text strings.Builder
		w := NewWriter(&text)
		twenty(w, payload)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		r := NewReplyReader(&again{text: text.String()}, Limits{})
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
