package target

import (
	"bytes"
	"fmt"
	"strconv"
)

// respFrames is what the dialects over RESP have in common.
type respFrames struct{ target *Target }

// AppendCommand appends the head of a command of so many words.
func AppendCommand(dst []byte, words int) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(words), 10)
	return append(dst, '\r', '\n')
}

func head(dst []byte, n int) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\r', '\n')
}

// AppendWord appends a word of a command.
func AppendWord(dst []byte, s string) []byte {
	dst = append(head(dst, len(s)), s...)
	return append(dst, '\r', '\n')
}

// AppendWordBytes appends a word of a command.
func AppendWordBytes(dst, s []byte) []byte {
	dst = append(head(dst, len(s)), s...)
	return append(dst, '\r', '\n')
}

// AppendWords appends a whole command.
func AppendWords(dst []byte, ws ...string) []byte {
	dst = AppendCommand(dst, len(ws))
	for _, w := range ws {
		dst = AppendWord(dst, w)
	}
	return dst
}

func payloadWord(dst []byte, p *Payloads) []byte {
	dst = p.Append(head(dst, p.size))
	return append(dst, '\r', '\n')
}

// Hello authenticates and chooses the keyspace, if the target says so.
func (f respFrames) Hello(dst []byte) ([]byte, int) {
	t, owed := f.target, 0
	if t.Password != "" {
		if t.User != "" {
			dst = AppendWords(dst, "AUTH", t.User, t.Password)
		} else {
			dst = AppendWords(dst, "AUTH", t.Password)
		}
		owed++
	}
	if t.Namespace != "" {
		name := "SELECT"
		if t.Protocol == Turnlog {
			name = "TURN.NS"
		}
		dst = AppendWords(dst, name, t.Namespace)
		owed++
	}
	return dst, owed
}

// Answer walks over one reply of RESP2 or RESP3.
func (respFrames) Answer(buf []byte) (int, error) {
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
			return at, Refusal(line)
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

// TurnDialect speaks TURN.*, as turnlog's own clients do.
type TurnDialect struct{ respFrames }

// NewTurnDialect returns the dialect for a target that is turnlog.
func NewTurnDialect(t *Target) *TurnDialect { return &TurnDialect{respFrames{t}} }

func (d TurnDialect) Append(dst, key []byte, n int, p *Payloads) ([]byte, int) {
	dst = AppendCommand(dst, 2+3*n)
	dst = AppendWord(dst, "TURN.APPEND")
	dst = AppendWordBytes(dst, key)
	return d.AppendMessages(dst, n, p), 1
}

// AppendMessages appends the words of n messages, each with an id.
func (TurnDialect) AppendMessages(dst []byte, n int, p *Payloads) []byte {
	for range n {
		dst = AppendWord(dst, "MSG")
		dst = p.ids.append(head(dst, idBytes))
		dst = append(dst, '\r', '\n')
		dst = payloadWord(dst, p)
	}
	return dst
}

func (TurnDialect) Read(dst, key []byte, n int) ([]byte, int) {
	dst = AppendCommand(dst, 4)
	dst = AppendWord(dst, "TURN.READ")
	dst = AppendWordBytes(dst, key)
	dst = AppendWord(dst, "LAST")
	return AppendWord(dst, strconv.Itoa(n)), 1
}

// listDialect keeps a session as a Redis list.
type listDialect struct{ respFrames }

func (d listDialect) Append(dst, key []byte, n int, p *Payloads) ([]byte, int) {
	dst = AppendCommand(dst, 2+n)
	dst = AppendWord(dst, "RPUSH")
	dst = AppendWordBytes(dst, key)
	for range n {
		dst = payloadWord(dst, p)
	}
	if d.target.Replicas == 0 {
		return dst, 1
	}
	return AppendWords(dst, "WAIT", strconv.Itoa(d.target.Replicas), "0"), 2
}

func (listDialect) Read(dst, key []byte, n int) ([]byte, int) {
	dst = AppendCommand(dst, 4)
	dst = AppendWord(dst, "LRANGE")
	dst = AppendWordBytes(dst, key)
	dst = AppendWord(dst, strconv.Itoa(-n))
	return AppendWord(dst, "-1"), 1
}
