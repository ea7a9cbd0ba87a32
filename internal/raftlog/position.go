package raftlog

import "fmt"

// Position is a place in the log: an entry's index and term. The zero position is before every entry.
type Position struct{ Index, Term uint64 }

// Before orders positions as Raft does when it compares logs.
func (p Position) Before(q Position) bool {
	return p.Term < q.Term || p.Term == q.Term && p.Index < q.Index
}

func (p Position) String() string { return fmt.Sprintf("entry %d of term %d", p.Index, p.Term) }
