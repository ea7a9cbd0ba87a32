package raftstore

import "fmt"

// loss is what a node lost of its log.
//
// If the log is shorter than the mark, the mark tells what it had. If others have seen
// more than the mark tells, an older copy of everything was put back, and nobody knows
// what this node acknowledged besides: doubt is the term up to which that is so.
type loss struct {
	had   position
	doubt uint64
}

// covers reports whether a log that ends there surely has all that was committed with
// the help of what was lost. What was committed in or before the term of doubt is in
// the log of each leader after it.
func (l loss) covers(end position) bool {
	if l.doubt > 0 {
		return end.term > l.doubt
	}
	return !end.before(l.had)
}

func (l loss) String() string {
	if l.doubt > 0 {
		return fmt.Sprintf("an unknown number of entries, at least up to %v, in terms up to %d", l.had, l.doubt)
	}
	return "entries up to " + l.had.String()
}
