package keyspace

import (
	"iter"
	"strings"

	"github.com/turnlog/turnlog/turn"
)

// LabelCount returns how many of these keys of metadata are labels.
func LabelCount(metadata iter.Seq[string]) (n int) {
	for k := range metadata {
		if strings.HasPrefix(k, turn.LabelPrefix) {
			n++
		}
	}
	return n
}

// CheckLabelCount refuses metadata with more labels than a session may have. One that had too many before there
// was a bound, at an earlier level, may still be changed in a way that adds none.
func (ks *Keys) CheckLabelCount(before, after int) error {
	if after > turn.MaxLabels && after > before && ks.Meta.Level >= turn.Level2 {
		return turn.Errorf(turn.TooLarge, "the session would have %d labels, the limit is %d", after, turn.MaxLabels)
	}
	return nil
}
