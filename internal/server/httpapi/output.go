package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/turnlog/turnlog/turn"
)

// output writes one response. It collects small pieces and passes large
// payloads through, so that an answer of any size needs little memory. A client
// that takes nothing for as long as stall is cut off.
//
// Its methods keep the first error of the connection and do nothing after it.
type output struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
	buf   []byte
	code  int   // of the response; 0: 200
	sent  int64 // bytes handed to the connection
	err   error
}

const outputBuffer = 16 << 10

func (o *output) started() bool { return o.sent > 0 || o.err != nil }

// finish sends what is left. An answer that fitted the buffer gets its length
// as a header.
func (o *output) finish() {
	if !o.started() {
		o.w.Header().Set("Content-Length", strconv.Itoa(len(o.buf)))
	}
	o.flush()
}

func (o *output) flush() {
	o.send(o.buf)
	o.buf = o.buf[:0]
}

func (o *output) send(b []byte) { o.sendBy(b, time.Now().Add(o.stall)) }

// sendBy is send for a client that has until then to take what is written.
func (o *output) sendBy(b []byte, deadline time.Time) {
	if o.err != nil {
		return
	}
	if o.sent == 0 && o.code != 0 {
		o.w.WriteHeader(o.code)
	}
	_ = o.rc.SetWriteDeadline(deadline)
	n, err := o.w.Write(b)
	o.sent += int64(n)
	o.err = err
}

// extend gives the client another stall to take what is written. Not every
// ResponseWriter has deadlines; those of a server have.
func (o *output) extend() { _ = o.rc.SetWriteDeadline(time.Now().Add(o.stall)) }

func (o *output) text(s string) {
	o.buf = append(o.buf, s...)
	if len(o.buf) >= outputBuffer {
		o.flush()
	}
}

// raw writes b as it is. It is not kept.
func (o *output) raw(b []byte) {
	if len(b) >= outputBuffer/2 {
		o.flush()
		o.send(b)
		return
	}
	o.buf = append(o.buf, b...)
	if len(o.buf) >= outputBuffer {
		o.flush()
	}
}

func (o *output) number(n uint64) { o.buf = strconv.AppendUint(o.buf, n, 10) }

func (o *output) signed(n int64) { o.buf = strconv.AppendInt(o.buf, n, 10) }

// base64 writes data as a JSON string of its standard base64.
func (o *output) base64(data []byte) {
	o.text(`"`)
	const step = 3 * outputBuffer / 4
	for len(data) > step {
		o.buf = base64.StdEncoding.AppendEncode(o.buf, data[:step])
		o.flush()
		data = data[step:]
	}
	o.buf = base64.StdEncoding.AppendEncode(o.buf, data)
	o.text(`"`)
}

// quote writes s, which must be valid UTF-8, as a JSON string.
func (o *output) quote(s string) {
	const hex = "0123456789abcdef"
	b := append(o.buf, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	o.buf = append(b, '"')
}

// value writes v as the standard encoder does, with < > & as they are.
func (o *output) value(v any) error {
	enc := json.NewEncoder((*outputWriter)(o))
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

type outputWriter output

func (w *outputWriter) Write(b []byte) (int, error) {
	(*output)(w).raw(b)
	return len(b), nil
}

// encoding says how payloads are shown.
type encoding struct {
	base64 bool // always as data_base64
	lines  bool // for an event stream, where each line has a name before it
}

// message writes m as a JSON object.
func (o *output) message(m *turn.Message, e encoding) {
	o.text(`{"seq":`)
	o.number(m.Seq)
	o.text(`,"time":`)
	o.signed(m.Time)
	if utf8.ValidString(m.ID) {
		o.text(`,"id":`)
		o.quote(m.ID)
	} else {
		o.text(`,"id_base64":`)
		o.base64([]byte(m.ID))
	}
	o.data(m.Data, e)
	o.text(`}`)
}

// data writes a payload, or the value of a field, as a member of an object behind others.
func (o *output) data(data []byte, e encoding) {
	if !e.base64 && isPlainJSON(data) && !(e.lines && bytes.IndexByte(data, '\r') >= 0) {
		o.text(`,"data":`)
		o.payload(data, e.lines)
	} else {
		o.text(`,"data_base64":`)
		o.base64(data)
	}
}

// payload writes JSON as it is. In an event the client joins the lines by \n
// again, which is why a payload with \r is not written as such.
func (o *output) payload(data []byte, lines bool) {
	for lines {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		o.raw(data[:i])
		o.text("\ndata: ")
		data = data[i+1:]
	}
	o.raw(data)
}

// isPlainJSON reports whether data can be part of a JSON document and be taken
// out again byte for byte.
func isPlainJSON(data []byte) bool {
	if len(data) == 0 || isSpace(data[0]) || isSpace(data[len(data)-1]) {
		return false
	}
	return utf8.Valid(data) && json.Valid(data) && !tooDeep(data)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// maxDepth keeps a payload with the levels around it within the nesting that
// JSON decoders accept; the standard one accepts 10,000.
const maxDepth = 9_990

// tooDeep reports whether data, valid JSON, is nested more than maxDepth levels.
func tooDeep(data []byte) bool {
	if len(data) < 2*maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			depth++
			if depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// messages writes ms as a JSON array.
func (o *output) messages(ms []turn.Message, e encoding) {
	o.text(`[`)
	for i := range ms {
		if i > 0 {
			o.text(`,`)
		}
		o.message(&ms[i], e)
	}
	o.text(`]`)
}

func (s *Server) newOutput(w http.ResponseWriter) *output {
	o := s.buffers.Get().(*output)
	o.w, o.rc = w, http.NewResponseController(w)
	o.extend() // past the deadline that the connection's last response left
	return o
}

func (s *Server) freeOutput(o *output) {
	buf := o.buf[:0]
	if cap(buf) > 4*outputBuffer {
		buf = nil
	}
	*o = output{stall: o.stall, buf: buf}
	s.buffers.Put(o)
}
