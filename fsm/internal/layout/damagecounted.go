package layout

import "github.com/turnlog/turnlog/turn"

// HeadCountsMore is the error for a walk that comes to fewer live messages, or elements, than
// the head of the incarnation counts, although all that it came upon is whole: pairs are hidden,
// or the count is wrong. An entry may not be applied to what is left.
func HeadCountsMore(inc uint64) error {
	return CountDamage{turn.Errorf(turn.Corrupt, "incarnation %d has fewer elements than its head counts", inc)}
}

// CountDamage is the error of HeadCountsMore.
type CountDamage struct{ error }

func (e CountDamage) Unwrap() error { return e.error }
