package glob

import "math/bits"

// Pattern is a pattern that many names are held against. It takes time with the length of a name, and with that of
// the pattern only for each 64 bytes of it.
type Pattern struct {
	size  int           // elements, without stars
	words int           // of 64 bits, that have a bit for each number of elements that may have matched
	match [256][]uint64 // for each byte, the elements that it matches: bit i+1 for element i
	stars []uint64      // bit i: there is a star after i elements
	all   bool          // it is a star alone
}

// Compile makes a pattern of the one that a client has written; see Match.
func Compile(pattern string) *Pattern {
	p := &Pattern{all: pattern == "*"}
	if p.all {
		return p
	}
	p.words = len(pattern)/64 + 1
	p.stars = make([]uint64, p.words)
	room := make([]uint64, 256*p.words)
	for b := range p.match {
		p.match[b] = room[b*p.words : (b+1)*p.words]
	}
	for len(pattern) > 0 {
		if pattern[0] == '*' {
			set(p.stars, p.size)
			pattern = pattern[1:]
			continue
		}
		p.size++
		size := 0
		for b := range p.match {
			n, ok := matchByte(pattern, byte(b))
			if ok {
				set(p.match[b], p.size)
			}
			size = n
		}
		pattern = pattern[size:]
	}
	p.words = p.size/64 + 1
	return p
}

func set(bits []uint64, i int) { bits[i/64] |= 1 << (i % 64) }

// Match reports whether a name matches.
//
// It goes through the name once, with the set of all i for which what it has passed matches the first i elements.
// Where the pattern has a star, what may have matched up to there may wait: no less than that needs to be known
// any more, since a star that a name reaches sooner never keeps it from matching.
func (p *Pattern) Match(name string) bool {
	if p.all {
		return true
	}
	var few [4]uint64
	state := few[:]
	if p.words > len(few) {
		state = make([]uint64, p.words)
	}
	state, stars := state[:p.words], p.stars[:p.words]
	state[0] = 1
	low := forget(state, 0, 0, state[0]&stars[0])
	for i := range len(name) {
		match := p.match[name[i]][:len(state)]
		carry, any := uint64(0), uint64(0)
		last, waiting := 0, uint64(0) // the last word with a star that was reached
		for w := low; w < len(state); w++ {
			s := state[w]
			next := (s<<1|carry)&match[w] | s&stars[w]
			carry = s >> 63
			any |= next
			state[w] = next
			if at := next & stars[w]; at != 0 {
				last, waiting = w, at
			}
		}
		if any == 0 {
			return false
		}
		low = forget(state, low, last, waiting)
	}
	return state[p.size/64]>>(p.size%64)&1 == 1
}

// forget forgets what is before the last star of those that wait in a word, and returns the first word that is left.
func forget(state []uint64, low, word int, waiting uint64) int {
	if waiting == 0 {
		return low
	}
	clear(state[low:word])
	state[word] &^= 1<<(bits.Len64(waiting)-1) - 1
	return word
}
