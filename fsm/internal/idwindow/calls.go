package idwindow

import (
	"slices"
	"unsafe"
)

// Call is one that brought messages, one of which tells of it.
type Call struct {
	Digest   [16]byte // of what it brought
	Ordinal  uint64   // of the message that tells of it
	Revision uint64   // after the call
	// Before and After are how many messages it brought before that one, and behind.
	Before, After uint64
}

const callPlaces = int(unsafe.Sizeof(Call{})+placeBytes-1) / placeBytes

// calls are those that the messages of a window tell of, and of some that it has no longer, in the order of ordinals.
type calls []Call

// since leaves out those of messages before an ordinal once they are at least half; until then it returns all, in the
// same memory. What is there is for one owner.
func (c calls) since(ordinal uint64) calls {
	n := 0
	for n < len(c) && c[n].Ordinal < ordinal {
		n++
	}
	if n == 0 || n < len(c)/2 {
		return c
	}
	return slices.Clone(c[n:])
}

// FindCall returns the earliest call with a digest and a revision above after.
func (of *Window) FindCall(digest [16]byte, after uint64) (Call, bool) {
	start := of.Next - uint64(of.len)
	for i := range of.calls {
		if c := &of.calls[i]; c.Ordinal >= start && c.Revision > after && c.Digest == digest {
			return *c, true
		}
	}
	return Call{}, false
}
