package answers_test

import (
	"math"
	"strings"
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

// A page of sessions counts for the metadata that they may have, up to where a page is cut; and a page of keys for
// those that the namespace has, where that is less.
func TestPageOfSessionsIsChargedWithMetadata(t *testing.T) {
	l := turn.DefaultLimits()
	full := turn.Session{Metadata: map[string]string{"a": strings.Repeat("x", l.MetaBytes-1)}}
	size := turn.SessionBytes + turn.FieldBytes + l.MetaBytes // see turn.Limits.AnswerBytes
	for _, limit := range []int{1, 100, 1000, 10_000} {
		q := &turn.Sessions{Limit: limit, List: true}
		var r turn.Result
		for range min(limit, l.AnswerBytes()/size) {
			r.Sessions = append(r.Sessions, full)
		}
		most, has := answers.Most(q, l), answers.Size(&r)
		if most < has || most > has+int64(limit)<<10 {
			t.Errorf("a page of %d: at most %d bytes, a full one has %d", limit, most, has)
		}
		asked := func(q turn.Query) (turn.Result, error) {
			if _, counts := q.(*turn.Count); !counts {
				t.Errorf("asks %T", q)
			}
			return turn.Result{Count: 3}, nil
		}
		few := answers.Most(&turn.Sessions{Limit: 3}, l)
		if n := answers.Foreseen(q, most, asked); n != min(most, few) {
			t.Errorf("a page of %d, of three keys: %d bytes, want %d", limit, n, min(most, few))
		}
	}
}
