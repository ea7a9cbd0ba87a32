package bench

import (
	"bytes"
	"fmt"
	"strconv"
)

// respFrames is what the dialects over RESP have in common.
type respFrames struct{ target *Target }

func command(dst []byte, words int) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(words), 10)
	return append(dst, '\r', '\n')
}

func head(dst []byte, n int) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

func word(dst []byte, s string) []byte {
	dst = append(head(dst, len(s)), s...)
	return append(dst, '\r', '\n')
}

func wordBytes(dst, s []byte) []byte {
	dst = append(head(dst, len(s)), s...)
	return append(dst, '\r', '\n')
}

func words(dst []byte, ws ...string) []byte {
	dst = command(dst, len(ws))
	for _, w := range ws {
		dst = word(dst, w)
	}
	return dst
}

func payloadWord(dst []byte, p *payloads) []byte {
	dst = p.append(head(dst, p.size))
	return append(dst, '\r', '\n')
}

// hello authenticates and chooses the keyspace, if the target says so.
func (f respFrames) hello(dst []byte) ([]byte, int) {
	t, owed := f.target, 0
	if t.Password != "" {
		if t.User != "" {
			dst = words(dst, "AUTH", t.User, t.Password)
		} else {
			dst = words(dst, "AUTH", t.Password)
		}
		owed++
	}
	if t.Namespace != "" {
		name := "SELECT"
		if t.Protocol == Turnlog {
			name = "TURN.NS"
		}
		dst = words(dst, name, t.Namespace)
		owed++
	}
	return dst, owed
}

// answer walks over one reply of RESP2 or RESP3.
func (respFrames) answer(buf []byte) (int, error) {
	at := 0
	for left := 1; left > 0; left-- {
		end := bytes.IndexByte(buf[at:], '\n')
		if end < 0 {
			return 0, nil
		}
		line := buf[at : at+end]
		at += end + 1
		if len(line) < 2 || line[len(line)-1] != '\r' {
			return 0, fmt.Errorf("no RESP: line %.80q", line)
		}
		kind, line := line[0], line[1:len(line)-1]
		switch kind {
		case '-':
			return at, refusal(line)
		case '$', '=', '!', '*', '%', '~', '>':
		default:
			continue
		}
		n, err := strconv.Atoi(string(line)) // does not allocate
		switch {
		case err != nil:
			return 0, fmt.Errorf("no RESP: length %.80q", line)
		case n < 0: // null
		case kind == '%':
			left += 2 * n
		case kind == '*' || kind == '~' || kind == '>':
			left += n
		default:
			if at += n + 2; at > len(buf) {
				return 0, nil
			}
		}
	}
	return at, nil
}

// turnDialect speaks TURN.*, as turnlog's own clients do.
type turnDialect struct{ respFrames }

func (d turnDialect) append(dst, key []byte, n int, p *payloads) ([]byte, int) {
	dst = command(dst, 2+3*n)
	dst = word(dst, "TURN.APPEND")
	dst = wordBytes(dst, key)
	return d.messages(dst, n, p), 1
}

// messages appends the words of n messages, each with an id.
func (turnDialect) messages(dst []byte, n int, p *payloads) []byte {
	for range n {
		dst = word(dst, "MSG")
		dst = p.ids.append(head(dst, idBytes))
		dst = append(dst, '\r', '\n')
		dst = payloadWord(dst, p)
	}
	return dst
}

func (turnDialect) read(dst, key []byte, n int) ([]byte, int) {
	dst = command(dst, 4)
	dst = word(dst, "TURN.READ")
	dst = wordBytes(dst, key)
	dst = word(dst, "LAST")
	return word(dst, strconv.Itoa(n)), 1
}

// listDialect keeps a session as a Redis list.
type listDialect struct{ respFrames }

func (d listDialect) append(dst, key []byte, n int, p *payloads) ([]byte, int) {
	dst = command(dst, 2+n)
	dst = word(dst, "RPUSH")
	dst = wordBytes(dst, key)
	for range n {
		dst = payloadWord(dst, p)
	}
	if d.target.Replicas == 0 {
		return dst, 1
	}
	return words(dst, "WAIT", strconv.Itoa(d.target.Replicas), "0"), 2
}

func (listDialect) read(dst, key []byte, n int) ([]byte, int) {
	dst = command(dst, 4)
	dst = word(dst, "LRANGE")
	dst = wordBytes(dst, key)
	dst = word(dst, strconv.Itoa(-n))
	return word(dst, "-1"), 1
}
