package layout

import "github.com/turnlog/turnlog/turn"

// HeadCountsMore is the error for a walk that comes to fewer live messages, or elements, than
// the head of the incarnation counts, although all that it came upon is whole: pairs are hidden,
// or the count is wrong. An entry may not be applied to what is left.
func HeadCountsMore(inc uint64) error {
	return CountDamage{turn.Errorf(turn.Corrupt, "incarnation %d has fewer elements than its head counts", inc)}
}

// CountDamage is the error of HeadCountsMore and Misindexed.
type CountDamage struct{ error }

func (e CountDamage) Unwrap() error { return e.error }

// Misindexed is the error for an index of labels that has a session which is not there, or is no more as the
// index has it, although all that was read is whole. As other nodes may have the same, no other state would help.
func Misindexed(session string) error {
	return CountDamage{turn.Errorf(turn.Corrupt, "the index of labels does not agree with the session %.64q", session)}
}
