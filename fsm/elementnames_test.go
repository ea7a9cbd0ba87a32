package fsm

import (
	"encoding/binary"

	"github.com/turnlog/turnlog/turn"
)

// The names of a sorted set's elements, as LAYOUT.md has them.
const (
	byMember  = "m"
	byScore   = "s"
	pastScore = "t"
)

// scoreName returns the name of the element of a member with 2 for its score.
func scoreName(member string) string { return byScore + "\xc0" + string(make([]byte, 7)) + member }

// memberOf returns the member of an element in the order of scores.
func memberOf(scoreName string) string { return scoreName[len(byScore)+8:] }

// entrySize returns how many bytes a stream's entry is stored in, its name aside.
func entrySize(fields []turn.Field) (n int) {
	uvarint := func(v int) int { return len(binary.AppendUvarint(nil, uint64(v))) }
	n = uvarint(len(fields))
	for _, f := range fields {
		n += uvarint(len(f.Name)) + len(f.Name) + uvarint(len(f.Value)) + len(f.Value)
	}
	return n
}
