package resp

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	tests := []struct {
		name         string
		write        func(*Writer)
		resp2, resp3 string
	}{
		{"status", func(w *Writer) { w.Status("OK") }, "+OK\r\n", "+OK\r\n"},
		{"error", func(w *Writer) { w.Error("ERR a\r\nb") }, "-ERR a  b\r\n", "-ERR a  b\r\n"},
		{"int", func(w *Writer) { w.Int(-5) }, ":-5\r\n", ":-5\r\n"},
		{"bulk", func(w *Writer) { w.Bulk([]byte("a\r\n")) }, "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"},
		{"null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"null array", func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"array", func(w *Writer) { w.Array(2) }, "*2\r\n", "*2\r\n"},
		{"map", func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"set", func(w *Writer) { w.Set(2) }, "*2\r\n", "~2\r\n"},
		{"push", func(w *Writer) { w.Push(2) }, "*2\r\n", ">2\r\n"},
		{"double", func(w *Writer) { w.Double(1.5) }, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"infinity", func(w *Writer) { w.Double(math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n"},
		{"true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"verbatim", func(w *Writer) { w.Verbatim("txt", "a") }, "$1\r\na\r\n", "=5\r\ntxt:a\r\n"},
		{"big number", func(w *Writer) { w.BigNumber("12") }, "$2\r\n12\r\n", "(12\r\n"},
		{"bulk error", func(w *Writer) { w.BulkError("ERR\nx") }, "-ERR x\r\n", "!5\r\nERR\nx\r\n"},
		{"command", func(w *Writer) { w.Command("GET", "k") }, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
			"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"},
	}
	for _, tt := range tests {
		for proto, want := range map[int]string{2: tt.resp2, 3: tt.resp3} {
			var b bytes.Buffer
			w := NewWriter(&b)
			w.SetProtocol(proto)
			tt.write(w)
			if w.Flush(); b.String() != want {
				t.Errorf("%s in RESP%d: %q, want %q", tt.name, proto, b.String(), want)
			}
		}
	}
}

// sizes records the length of each Write.
type sizes struct {
	bytes.Buffer
	n []int
}

func (s *sizes) Write(p []byte) (int, error) {
	s.n = append(s.n, len(p))
	return s.Buffer.Write(p)
}

func TestWriterGathersSmallAndPassesLarge(t *testing.T) {
	var out sizes
	w := NewWriter(&out)
	for range 100 {
		w.Int(1)
	}
	if len(out.n) != 0 {
		t.Errorf("%d writes before Flush", len(out.n))
	}
	big := strings.Repeat("x", 1<<20)
	w.Bulk([]byte(big))
	w.Flush()
	if len(out.n) != 3 {
		t.Errorf("writes of %v bytes", out.n)
	}
	if want := strings.Repeat(":1\r\n", 100) + "$1048576\r\n" + big + "\r\n"; out.String() != want {
		t.Error("bytes are out of order")
	}
	for range 100_000 {
		w.Int(1)
	}
	if w.Buffered() > flushAt {
		t.Errorf("%d bytes gathered", w.Buffered())
	}
}

type brokenWriter struct{ calls int }

func (b *brokenWriter) Write([]byte) (int, error) {
	b.calls++
	return 0, errors.New("broken")
}

func TestWriterStopsAfterAnError(t *testing.T) {
	var out brokenWriter
	w := NewWriter(&out)
	w.Status("OK")
	if w.Flush() == nil || w.err == nil {
		t.Fatal("no error")
	}
	w.Bulk(make([]byte, 1<<20))
	w.BulkString(strings.Repeat("x", 1<<20))
	if err := w.Flush(); err == nil || out.calls != 1 {
		t.Errorf("%d writes, %v", out.calls, err)
	}
}
