package target

import (
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
)

const (
	payloadHead = `{"role":"user","content":"`
	payloadTail = `"}`
	// MinSize is the size of the smallest message.
	MinSize = len(payloadHead) + len(payloadTail)
)

// Payloads gives out messages of one size: JSON with text that does not compress.
type Payloads struct {
	text []byte
	size int
	rand *rand.Rand
	ids  idSource
}

// NewPayloads returns payloads of so many bytes each.
func NewPayloads(size int, r *rand.Rand) *Payloads {
	raw := make([]byte, 96<<10)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	text := make([]byte, 0, 2*len(raw)+2*size)
	for len(text) < len(raw)+2*size {
		text = base64.StdEncoding.AppendEncode(text, raw)
	}
	return &Payloads{text: text, size: size, rand: r, ids: idSource{run: r.Uint64()}}
}

// Append appends a message's payload.
func (p *Payloads) Append(dst []byte) []byte {
	n := p.size - MinSize
	start := p.rand.IntN(len(p.text) - n)
	dst = append(dst, payloadHead...)
	dst = append(dst, p.text[start:start+n]...)
	return append(dst, payloadTail...)
}

// idSource gives out message ids of 24 bytes that no other run gives out.
type idSource struct {
	run  uint64
	next uint32
}

const idBytes = 24

func (s *idSource) append(dst []byte) []byte {
	s.next++
	var b [12]byte
	for i := range 8 {
		b[i] = byte(s.run >> (8 * i))
	}
	for i := range 4 {
		b[8+i] = byte(s.next >> (8 * i))
	}
	return hex.AppendEncode(dst, b[:])
}
