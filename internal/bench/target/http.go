package target

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
)

// httpDialect speaks HTTP/1.1 with turnlog.
type httpDialect struct {
	base string // path up to the session's key
	tail string // of every request's head
	body []byte // scratch
}

func newHTTPDialect(t *Target) *httpDialect {
	d := &httpDialect{base: "/v1/sessions/", tail: " HTTP/1.1\r\nHost: " + t.Addrs[0] + "\r\n"}
	if t.Namespace != "" {
		d.base = "/v1/ns/" + t.Namespace + "/sessions/"
	}
	if t.Password != "" {
		d.tail += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(t.User+":"+t.Password)) + "\r\n"
	}
	return d
}

func (d *httpDialect) Hello(dst []byte) ([]byte, int) { return dst, 0 }

func (d *httpDialect) Append(dst, key []byte, n int, p *Payloads) ([]byte, int) {
	d.body = append(d.body[:0], `{"messages":[`...)
	for i := range n {
		if i > 0 {
			d.body = append(d.body, ',')
		}
		d.body = p.ids.append(append(d.body, `{"id":"`...))
		d.body = p.Append(append(d.body, `","data":`...))
		d.body = append(d.body, '}')
	}
	d.body = append(d.body, "]}"...)
	dst = d.line(dst, "POST ", key, "/messages")
	dst = append(dst, "Content-Type: application/json\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(d.body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, d.body...), 1
}

func (d *httpDialect) Read(dst, key []byte, n int) ([]byte, int) {
	dst = d.line(dst, "GET ", key, "/messages?last=", strconv.Itoa(n))
	return append(dst, '\r', '\n'), 1
}

// line appends the request line and the headers that all requests have.
func (d *httpDialect) line(dst []byte, method string, key []byte, rest ...string) []byte {
	dst = append(append(append(dst, method...), d.base...), key...)
	for _, r := range rest {
		dst = append(dst, r...)
	}
	return append(dst, d.tail...)
}

func (d *httpDialect) Answer(buf []byte) (int, error) {
	end := bytes.Index(buf, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, nil
	}
	header, at := buf[:end+2], end+4
	if len(header) < 12 || !bytes.HasPrefix(header, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("no HTTP: %.80q", header)
	}
	body, length := at, 0
	if v := headerValue(header, "Content-Length: "); v != nil {
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return 0, fmt.Errorf("no HTTP: length %.80q", v)
		}
		at, length = at+n, n
		if at > len(buf) {
			return 0, nil
		}
	} else if headerValue(header, "Transfer-Encoding: ") != nil {
		n, err := chunks(buf[at:])
		if n == 0 {
			return 0, err
		}
		at, length = at+n, n
	}
	if header[9] != '2' {
		return at, Refusal(fmt.Sprintf("%s: %.200s", header[9:12], buf[body:body+length]))
	}
	return at, nil
}

// headerValue returns the value of a header, as Go's servers spell its name.
func headerValue(header []byte, name string) []byte {
	i := bytes.Index(header, []byte(name))
	if i < 0 {
		return nil
	}
	v := header[i+len(name):]
	return v[:bytes.IndexByte(v, '\r')]
}

// chunks returns the length of a chunked body, 0 if it is not complete.
func chunks(buf []byte) (int, error) {
	at := 0
	for {
		end := bytes.IndexByte(buf[at:], '\n')
		if end < 1 {
			return 0, nil
		}
		n, err := strconv.ParseUint(string(buf[at:at+end-1]), 16, 31)
		if err != nil {
			return 0, fmt.Errorf("no HTTP: chunk %.80q", buf[at:at+end])
		}
		if at += end + 1 + int(n) + 2; at > len(buf) {
			return 0, nil
		}
		if n == 0 {
			return at, nil
		}
	}
}
