// Package glob matches names against the patterns of Redis: * ? [a-z] [^abc] and \ as the escape.
//
// Match takes at most len(pattern)·len(name) steps, whatever the pattern. Compile makes a Pattern for many names, which
// simulates a non-deterministic automaton with a bit for each element of the pattern, as the Shift-And algorithm of
// Baeza-Yates and Gonnet does. Both give the same answers. Functions and Patterns may be used by any goroutine.
package glob

import "strings"

// MaxBytes is how long a pattern of a client may be, and the name of a channel that patterns are held against. Names
// of keys are shorter. What a client may ask for by one request takes time with the product of both.
const MaxBytes = 1024

// Match reports whether name matches pattern: * any bytes, ? one byte, [abc],
// [^abc] and [a-z] a byte of a set, \ the next byte itself.
//
// A * that fails makes only the last * before it try again, so that no pattern
// takes more than len(pattern)·len(name) steps, a byte of a set being one.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, from := -1, 0 // the pattern after the last *, and where the name was then
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, from = p, n
			continue
		}
		if size, ok := matchByte(pattern[p:], name[n]); ok {
			p += size
			n++
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchByte holds the first element of a pattern against a byte. size is the
// length of that element.
func matchByte(pattern string, b byte) (size int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return matchSet(pattern, b)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == b
		}
	}
	return 1, pattern[0] == b
}

// matchSet is matchByte for a set. One that is not closed ends with the pattern.
func matchSet(pattern string, b byte) (size int, ok bool) {
	i := 1
	negate := i < len(pattern) && pattern[i] == '^'
	if negate {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			ok = ok || pattern[i+1] == b
			i += 2
		case i+2 < len(pattern) && pattern[i+1] == '-':
			lo, hi := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			ok = ok || lo <= b && b <= hi
			i += 3
		default:
			ok = ok || pattern[i] == b
			i++
		}
	}
	return min(i+1, len(pattern)), ok != negate
}

// LiteralPrefix returns what every name that matches pattern begins with.
func LiteralPrefix(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}
