package rollback

// question is what a node tells of itself, and the number of its start: random, not 0, and
// missing from an older turnlog. An answer to one start does not tell of acknowledgements that
// an earlier one gave and that are still on their way: see Observations.Acked.
type question struct {
	Observation
	Boot  uint64 `json:"boot,omitempty"`
	Doubt bool   `json:"doubt,omitempty"` // see raftlog.Loss
	// Seen is what the asker has seen of the one that it asks; nil from an older turnlog.
	Seen *Observation `json:"seen,omitempty"`
}

// to returns the question as it goes to a node of which that was seen.
func (q question) to(seen Observation) question {
	q.Seen = &seen
	return q
}

// statement is what a node has seen of another one, and the highest term that it was in itself
// (0 from an older turnlog).
type statement struct {
	Observation
	Own uint64 `json:"own_term,omitempty"`
}

// reply is the answer to a question, and the members that the one that answers knows: see
// introductions.
type reply struct {
	statement
	Members []string `json:"members,omitempty"`
}
