package resp

import (
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	flushAt    = 32 << 10 // a Writer that holds this much writes it out
	keepBuffer = 16 << 10 // a larger buffer is let go when it has been flushed; the last 20 messages usually fit
)

// Writer writes replies, and requests, to an io.Writer. It gathers small frames
// into one buffer until Flush; a full buffer, and strings too long for it, go
// out before.
//
// It writes RESP2 until SetProtocol(3). In RESP2 the types that it lacks take
// the shape that Redis gives them: a map is an array of keys and values, a set
// or push is an array, null is the null bulk string, a double or big number is
// a bulk string, a boolean is 0 or 1.
//
// After an error of the underlying writer nothing more is written; Flush
// returns that error.
type Writer struct {
	w     io.Writer
	buf   []byte
	proto int
	err   error
}

// NewWriter returns a Writer of RESP2 to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, proto: 2} }

// Protocol returns the version being written, 2 or 3.
func (w *Writer) Protocol() int { return w.proto }

// SetProtocol changes the version for what is written from now on.
func (w *Writer) SetProtocol(version int) { w.proto = version }

// Flush writes out what is gathered.
func (w *Writer) Flush() error {
	if len(w.buf) > 0 && w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return w.err
}

// Buffered returns the number of bytes gathered.
func (w *Writer) Buffered() int { return len(w.buf) }

// Status writes a simple string. CR and LF become spaces.
func (w *Writer) Status(s string) { w.lineFrame('+', s) }

// Error writes an error, code first: "ERR syntax error". CR and LF become spaces.
func (w *Writer) Error(s string) { w.lineFrame('-', s) }

// Int writes an integer.
func (w *Writer) Int(n int64) { w.number(':', n) }

// Bulk writes a string of any bytes.
func (w *Writer) Bulk(b []byte) {
	if !w.bulkHead('$', len(b)) {
		w.buf = append(w.buf, b...)
	} else if w.err == nil {
		_, w.err = w.w.Write(b)
	}
	w.crlf()
}

// BulkString writes a string of any bytes.
func (w *Writer) BulkString(s string) {
	if !w.bulkHead('$', len(s)) {
		w.buf = append(w.buf, s...)
	} else if w.err == nil {
		_, w.err = io.WriteString(w.w, s)
	}
	w.crlf()
}

// Null writes null in place of a string.
func (w *Writer) Null() {
	if w.proto >= 3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "$-1\r\n"...)
	}
	w.spill()
}

// NullArray writes null in place of an array.
func (w *Writer) NullArray() {
	if w.proto >= 3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "*-1\r\n"...)
	}
	w.spill()
}

// Array begins an array of n elements, which the caller writes next.
func (w *Writer) Array(n int) { w.number('*', int64(n)) }

// Map begins a map of n pairs: the caller writes a key, its value, and so on.
func (w *Writer) Map(n int) {
	if w.proto >= 3 {
		w.number('%', int64(n))
	} else {
		w.number('*', 2*int64(n))
	}
}

// Set begins a set of n elements.
func (w *Writer) Set(n int) {
	if w.proto >= 3 {
		w.number('~', int64(n))
	} else {
		w.number('*', int64(n))
	}
}

// Push begins a message of n elements that answers no request.
func (w *Writer) Push(n int) {
	if w.proto >= 3 {
		w.number('>', int64(n))
	} else {
		w.number('*', int64(n))
	}
}

// Double writes a floating-point number.
func (w *Writer) Double(f float64) {
	if w.proto >= 3 {
		w.lineFrame(',', FormatDouble(f))
	} else {
		w.BulkString(FormatDouble(f))
	}
}

// Bool writes a truth value.
func (w *Writer) Bool(b bool) {
	switch {
	case w.proto >= 3 && b:
		w.lineFrame('#', "t")
	case w.proto >= 3:
		w.lineFrame('#', "f")
	case b:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// BigNumber writes an integer of any size, given in decimal.
func (w *Writer) BigNumber(decimal string) {
	if w.proto >= 3 {
		w.lineFrame('(', decimal)
	} else {
		w.BulkString(decimal)
	}
}

// Verbatim writes text with a format of three letters, such as "txt".
func (w *Writer) Verbatim(format, text string) {
	if w.proto < 3 {
		w.BulkString(text)
		return
	}
	w.frame('=', format+":"+text)
}

// BulkError writes an error that may contain any bytes; in RESP2, as Error does.
func (w *Writer) BulkError(s string) {
	if w.proto < 3 {
		w.Error(s)
		return
	}
	w.frame('!', s)
}

// Command writes a request.
func (w *Writer) Command(args ...string) {
	w.Array(len(args))
	for _, a := range args {
		w.BulkString(a)
	}
}

// Value writes v. A Null is written as Null does it.
func (w *Writer) Value(v Value) {
	if len(v.Attrs) > 0 && w.proto >= 3 {
		w.number(attribute, int64(len(v.Attrs)/2))
		for _, a := range v.Attrs {
			w.Value(a)
		}
	}
	switch v.Kind {
	case SimpleString:
		w.Status(string(v.Str))
	case SimpleError:
		w.Error(string(v.Str))
	case Integer:
		w.Int(v.Int)
	case BulkString:
		w.Bulk(v.Str)
	case Null:
		w.Null()
	case Double:
		w.Double(v.Double)
	case Boolean:
		w.Bool(v.Int != 0)
	case BulkError:
		w.BulkError(string(v.Str))
	case Verbatim:
		w.Verbatim(v.Format, string(v.Str))
	case BigNumber:
		w.BigNumber(string(v.Str))
	default:
		w.aggregate(v)
	}
}

func (w *Writer) aggregate(v Value) {
	switch v.Kind {
	case Map:
		w.Map(len(v.Elems) / 2)
	case Set:
		w.Set(len(v.Elems))
	case Push:
		w.Push(len(v.Elems))
	default:
		w.Array(len(v.Elems))
	}
	for _, e := range v.Elems {
		w.Value(e)
	}
}

func (w *Writer) number(kind Kind, n int64) {
	w.buf = append(w.buf, byte(kind))
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.crlf()
}

func (w *Writer) lineFrame(kind Kind, s string) {
	w.buf = append(w.buf, byte(kind))
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
	}
	w.buf = append(w.buf, s...)
	w.crlf()
}

func (w *Writer) frame(kind Kind, s string) {
	w.bulkHead(kind, len(s))
	w.buf = append(w.buf, s...)
	w.crlf()
}

// bulkHead begins a frame of n bytes, and reports whether they are too many for
// the buffer; then the buffer has been flushed, and they go out directly.
func (w *Writer) bulkHead(kind Kind, n int) (direct bool) {
	w.number(kind, int64(n))
	if n < flushAt {
		return false
	}
	w.Flush()
	return true
}

func (w *Writer) crlf() {
	w.buf = append(w.buf, '\r', '\n')
	w.spill()
}

func (w *Writer) spill() {
	if len(w.buf) >= flushAt {
		w.Flush()
	}
}

// FormatDouble writes f as Redis 7.2 does: the shortest digits that read back as
// f, without an exponent if that does not need many zeros.
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return strconv.FormatInt(int64(f), 10)
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	exp, _ := strconv.Atoi(exponent)
	digits := len(strings.Trim(mantissa, "-"))
	if digits > 1 {
		digits-- // the point
	}
	last := exp - digits + 1 // place of the last digit
	if last >= 0 && exp < digits+7 || last < 0 && (last > -7 || max(exp, -exp) < 4) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	sign := "+"
	if exp < 0 {
		sign = "-"
	}
	return mantissa + "e" + sign + strconv.Itoa(max(exp, -exp))
}
