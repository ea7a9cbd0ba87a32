package toolcalls

import "bytes"

// reader goes through JSON once.
type reader struct {
	b []byte
	i int // of the next byte
}

// next returns the next byte that is no space, without passing it; 0: there is none.
func (r *reader) next() byte {
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take passes the byte c if it is next.
func (r *reader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.i++
	return true
}

// end has nothing be next: what follows makes no sense.
func (r *reader) end() { r.i = len(r.b) }

// members passes an object, and calls each with the name of each member when its value is next, which each
// passes as a whole or not at all. It passes nothing if no object is next.
func (r *reader) members(each func(name []byte)) {
	if !r.take('{') || r.take('}') {
		return
	}
	for {
		name, ok := r.text()
		if !ok || !r.take(':') {
			r.end()
			return
		}
		r.next()
		at := r.i
		if each(name); r.i == at {
			r.skip()
		}
		if r.closes('}') {
			return
		}
	}
}

// objects is members for an array, and calls each when an object is next.
func (r *reader) objects(each func()) {
	if !r.take('[') || r.take(']') {
		return
	}
	for {
		if r.next() == '{' {
			each()
		} else {
			r.skip()
		}
		if r.closes(']') {
			return
		}
	}
}

// closes passes what is between values. It reports whether none follows.
func (r *reader) closes(bracket byte) bool {
	switch {
	case r.take(','):
		return false
	case r.take(bracket):
		return true
	}
	r.end()
	return true
}

// text passes a string, and returns what is written between its quotes.
func (r *reader) text() (text []byte, ok bool) {
	if r.next() != '"' {
		return nil, false
	}
	from := r.i + 1
	for to := from; ; to++ {
		n := bytes.IndexByte(r.b[to:], '"')
		if n < 0 {
			r.end()
			return nil, false
		}
		to += n
		escapes := to
		for escapes > from && r.b[escapes-1] == '\\' {
			escapes--
		}
		if (to-escapes)%2 == 0 {
			r.i = to + 1
			return r.b[from:to], true
		}
	}
}

// skip passes a value.
func (r *reader) skip() {
	switch r.next() {
	case '"':
		r.text()
	case '{', '[':
		r.skipBrackets()
	default:
		r.skipWord()
	}
}

// skipWord passes a number or a name, up to what may follow it.
func (r *reader) skipWord() {
	for from := r.i; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case ',', ']', '}':
			if r.i == from {
				r.end()
			}
			return
		}
	}
}

// skipBrackets passes an object or array, of which it looks at nothing but where it ends.
func (r *reader) skipBrackets() {
	for depth := 0; r.i < len(r.b); {
		switch r.b[r.i] {
		case '"':
			r.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if r.i++; depth == 0 {
			return
		}
	}
}
