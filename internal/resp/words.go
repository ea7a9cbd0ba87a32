package resp

import "bytes"

// splitWords appends the words of an inline request to arena and their ends to
// ends. A word is a run of other bytes than white space; in "double quotes" it
// may contain white space and the escapes \n \r \t \b \a \\ \" \xHH, in 'single
// quotes' white space and \'. After a closing quote the word must end. It
// reports false if a quote is not closed so. As in Redis, a NUL ends the line,
// and a vertical tab or form feed separates words only next to other white space.
func splitWords(line, arena []byte, ends []int) ([]byte, []int, bool) {
	if i := bytes.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	for {
		line = trimSpace(line)
		if len(line) == 0 {
			return arena, ends, true
		}
		var ok bool
		if arena, line, ok = word(arena, line); !ok {
			return arena, ends, false
		}
		ends = append(ends, len(arena))
	}
}

// word appends the first word of line, which is not empty, to dst and returns
// what follows it.
func word(dst, line []byte) (_, rest []byte, ok bool) {
	for len(line) > 0 && !endsWord(line[0]) {
		switch c := line[0]; c {
		case '"', '\'':
			if dst, rest, ok = quoted(dst, line[1:], c); !ok {
				return dst, nil, false
			}
			return dst, rest, len(rest) == 0 || isSpace(rest[0])
		default:
			dst, line = append(dst, c), line[1:]
		}
	}
	return dst, line, true
}

// quoted appends what comes before the closing quote.
func quoted(dst, line []byte, quote byte) (_, rest []byte, ok bool) {
	for len(line) > 0 {
		c := line[0]
		switch {
		case c == quote:
			return dst, line[1:], true
		case c == '\\' && quote == '\'' && len(line) > 1 && line[1] == '\'':
			dst, line = append(dst, '\''), line[2:]
		case c == '\\' && quote == '"' && len(line) > 1:
			dst, line = escaped(dst, line[1:])
		default:
			dst, line = append(dst, c), line[1:]
		}
	}
	return dst, nil, false
}

// escaped appends the byte that the text after a backslash stands for.
func escaped(dst, line []byte) (_, rest []byte) {
	if len(line) >= 3 && line[0] == 'x' {
		hi, ok1 := hexDigit(line[1])
		lo, ok2 := hexDigit(line[2])
		if ok1 && ok2 {
			return append(dst, hi<<4|lo), line[3:]
		}
	}
	c := line[0]
	switch c {
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'b':
		c = '\b'
	case 'a':
		c = '\a'
	}
	return append(dst, c), line[1:]
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}
