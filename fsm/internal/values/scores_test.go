package values

import (
	"bytes"
	"math"
	"testing"
)

// The byte order of stored scores is the order of the scores.
func TestScoresAreStoredInOrder(t *testing.T) {
	scores := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, 0,
		math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	for i, s := range scores {
		if got := decodeScore(encodeScore(s)); got != s {
			t.Errorf("%v comes back as %v", s, got)
		}
		if i > 0 && bytes.Compare(encodeScore(scores[i-1]), encodeScore(s)) >= 0 {
			t.Errorf("%v is not stored before %v", scores[i-1], s)
		}
	}
}
