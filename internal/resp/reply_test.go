package resp

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func readReply(in string) (Value, error) {
	return NewReplyReader(strings.NewReader(in), Limits{}).Next()
}

func bulk(s string) Value { return Value{Kind: BulkString, Str: []byte(s)} }
func num(n int64) Value   { return Value{Kind: Integer, Int: n} }

func TestReplies(t *testing.T) {
	tests := []struct {
		in   string
		want Value
	}{
		{"+OK\r\n", Value{Kind: SimpleString, Str: []byte("OK")}},
		{"-ERR no\r\n", Value{Kind: SimpleError, Str: []byte("ERR no")}},
		{":-42\r\n", num(-42)},
		{":+7\r\n", num(7)},
		{"$3\r\na\r\n\r\n", bulk("a\r\n")},
		{"$0\r\n\r\n", bulk("")},
		{"$-1\r\n", Value{Kind: Null}},
		{"*-1\r\n", Value{Kind: Null}},
		{"_\r\n", Value{Kind: Null}},
		{"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
			Value{Kind: Array, Elems: []Value{num(1), {Kind: Array, Elems: []Value{bulk("x")}}}}},
		{"*0\r\n", Value{Kind: Array, Elems: []Value{}}},
		{"%1\r\n$1\r\nk\r\n:1\r\n", Value{Kind: Map, Elems: []Value{bulk("k"), num(1)}}},
		{"~1\r\n:1\r\n", Value{Kind: Set, Elems: []Value{num(1)}}},
		{">1\r\n:1\r\n", Value{Kind: Push, Elems: []Value{num(1)}}},
		{",3.25\r\n", Value{Kind: Double, Double: 3.25}},
		{",-inf\r\n", Value{Kind: Double, Double: math.Inf(-1)}},
		{"#t\r\n", Value{Kind: Boolean, Int: 1}},
		{"#f\r\n", Value{Kind: Boolean}},
		{"!5\r\nERR x\r\n", Value{Kind: BulkError, Str: []byte("ERR x")}},
		{"=7\r\ntxt:abc\r\n", Value{Kind: Verbatim, Format: "txt", Str: []byte("abc")}},
		{"(-123456789012345678901234567890\r\n",
			Value{Kind: BigNumber, Str: []byte("-123456789012345678901234567890")}},
		{"|1\r\n+a\r\n:1\r\n:5\r\n",
			Value{Kind: Integer, Int: 5, Attrs: []Value{{Kind: SimpleString, Str: []byte("a")}, num(1)}}},
		{"+" + strings.Repeat("x", 20000) + "\r\n", Value{Kind: SimpleString, Str: bytes.Repeat([]byte("x"), 20000)}},
	}
	for _, tt := range tests {
		got, err := readReply(tt.in)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%.60q: got %+v, %v", tt.in, got, err)
		}
		for i := range len(tt.in) - 1 {
			if _, err := readReply(tt.in[:i+1]); err != io.ErrUnexpectedEOF {
				t.Fatalf("%.60q cut to %d bytes: %v", tt.in, i+1, err)
			}
		}
	}
}

func TestBadReplies(t *testing.T) {
	deep := strings.Repeat("*1\r\n", 40) + ":1\r\n"
	for _, in := range []string{
		"?\r\n", "\r\n", "x1\r\n", ":\r\n", ":1x\r\n", ":1\n", "$-2\r\n", "$1\r\nab\r\n", "*-2\r\n", "%-1\r\n",
		"#x\r\n", ",x\r\n",
		"(1x\r\n", "(\r\n", "=2\r\nab\r\n", "_x\r\n", "$2147483648\r\n", "*2147483647\r\n", deep,
		"+" + strings.Repeat("x", 70000) + "\r\n",
	} {
		_, err := readReply(in)
		if _, ok := err.(ProtocolError); !ok {
			t.Errorf("%.60q: %v", in, err)
		}
	}
}

func TestHostileRepliesAllocateLittle(t *testing.T) {
	for _, in := range []string{"$536870912\r\nabc", "*10000000\r\n:1\r\n", strings.Repeat("*10000000\r\n", 20)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := readReply(in); err != io.ErrUnexpectedEOF {
			t.Fatalf("%q: %v", in, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%q allocated %d bytes", in, n)
		}
	}
}

func TestField(t *testing.T) {
	for _, in := range []string{"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n"} {
		v, _ := readReply(in)
		if b, ok := v.Field("b"); !ok || b.Int != 2 {
			t.Errorf("%q: %+v", in, b)
		}
		if _, ok := v.Field("c"); ok {
			t.Errorf("%q has a field c", in)
		}
	}
}

func TestErrorCode(t *testing.T) {
	e := Error("CONFLICT revision=17 moved on")
	if e.Code() != "CONFLICT" || e.Message() != "revision=17 moved on" {
		t.Errorf("%q %q", e.Code(), e.Message())
	}
}

func FuzzReplyReader(f *testing.F) {
	f.Add([]byte("*3\r\n:1\r\n$-1\r\n%1\r\n+a\r\n,1.5\r\n"))
	f.Add([]byte("|1\r\n+k\r\n#t\r\n=5\r\ntxt:a\r\n>0\r\n~0\r\n(12\r\n!1\r\ne\r\n_\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := Limits{MaxBulk: 1 << 16, MaxReply: 1 << 18}
		r := NewReplyReader(bytes.NewReader(in), lim)
		split := NewReplyReader(iotest.HalfReader(bytes.NewReader(in)), lim)
		for {
			v, err := r.Next()
			v2, err2 := split.Next()
			if !same(v, v2) || (err == nil) != (err2 == nil) {
				t.Fatalf("the result depends on how the bytes arrive: %+v %v, %+v %v", v, err, v2, err2)
			}
			if err != nil {
				return
			}
			// What was read can be written, and reads back as the same.
			var b bytes.Buffer
			w := NewWriter(&b)
			w.SetProtocol(3)
			w.Value(v)
			w.Flush()
			again, err := NewReplyReader(&b, Limits{}).Next()
			if err != nil || !same(v, again) {
				t.Fatalf("%+v was read back as %+v, %v", v, again, err)
			}
		}
	})
}

// same is equality, NaN included; CR and LF in a line have become spaces.
func same(a, b Value) bool {
	var x, y bytes.Buffer
	for _, p := range []struct {
		v Value
		b *bytes.Buffer
	}{{a, &x}, {b, &y}} {
		w := NewWriter(p.b)
		w.SetProtocol(3)
		w.Value(p.v)
		w.Flush()
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}
