package raftlog

import "fmt"

// Loss is what a node lost of its log.
//
// If the log ends before the mark, the mark is the position that it had. If other nodes
// have seen a later position than the mark, an older copy of the whole directory was
// restored, and what this node acknowledged after that copy is unknown: doubt is the last
// term of which that is so.
type Loss struct {
	Had      Position
	Doubt    uint64
	Restored bool // the doubt is due to an older copy: the terms that the node was in are unknown, too
}

// Covers reports whether a log that ends there surely has all that was committed with
// the help of what was lost. What was committed in or before the term of doubt is in
// the log of each leader after it.
func (l Loss) Covers(end Position) bool {
	if l.Doubt > 0 {
		return end.Term > l.Doubt
	}
	return !end.Before(l.Had)
}

func (l Loss) String() string {
	if l.Doubt > 0 {
		return fmt.Sprintf("an unknown number of entries, at least up to %v, in terms up to %d", l.Had, l.Doubt)
	}
	return "entries up to " + l.Had.String()
}

// EndedBy reports whether a leader of that term, which has told what it has seen, ends the
// doubt by having brought the log to end. One of a term before the last one in doubt does not:
// it does not know what was acknowledged to the leaders after it.
func (l Loss) EndedBy(term uint64, end Position) bool {
	return end.Term == term && term >= l.Doubt && !end.Before(l.Had)
}
