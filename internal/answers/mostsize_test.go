package answers_test

import (
	"math"
	"testing"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/turn"
)

// However high the limit of a read, its answer counts for as much as one without a limit.
func TestReadOfAnyLimitIsCharged(t *testing.T) {
	l := turn.DefaultLimits()
	want := answers.Most(&turn.Read{}, l)
	for _, limit := range []int{1 << 20, 1 << 39, 1 << 40, 1 << 41, math.MaxInt} {
		q := &turn.Read{Key: turn.Key{Namespace: "0", Name: "a"}, Limit: limit}
		if err := q.Validate(l); err != nil {
			t.Fatal(err)
		}
		if got := answers.Most(q, l); got != want {
			t.Errorf("limit %d: %d bytes, want %d", limit, got, want)
		}
	}
}
