package raftstore

import "fmt"

// ifAllRestored is what to do if no leader can be elected, since too many nodes wait for one:
// they were restored from copies of different times.
const ifAllRestored = "if all nodes were restored from backups and no leader is elected, stop all of them, delete " + markName +
	" and " + sightingsName + " in each data directory, and start them again; what the backups lack is lost; " +
	"a node that stops by itself after that is to be removed, and added again with an empty data directory"

// loss is what a node lost of its log.
//
// If the log ends before the mark, the mark is the position that it had. If other nodes
// have seen a later position than the mark, an older copy of the whole directory was
// restored, and what this node acknowledged after that copy is unknown: doubt is the last
// term of which that is so.
type loss struct {
	had      position
	doubt    uint64
	restored bool // the doubt is due to an older copy: the terms that the node was in are unknown, too
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
