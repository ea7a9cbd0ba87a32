package client

import (
	"errors"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// The documentation tells the two reasons of a Conflict apart by the revision, and says how to go on.
func TestReasonsOfAConflict(t *testing.T) {
	ctx := t.Context()
	s := newTestClient(t, Config{Addrs: []string{realServer(t)}}).Session("s")
	a, b := turn.NewMessage{ID: "a", Data: []byte("a")}, turn.NewMessage{ID: "b", Data: []byte("b")}
	revision := func(err error) uint64 {
		t.Helper()
		e := (*turn.Error)(nil)
		if !errors.As(err, &e) || e.Kind != turn.Conflict {
			t.Fatalf("error %v", err)
		}
		return e.Revision
	}
	first, err := s.Append(ctx, a)
	check(t, "first", err, !first.Duplicate)

	_, err = s.Expect(first.Revision+5).Append(ctx, b)
	check(t, "another revision", nil, revision(err) == first.Revision)
	_, err = s.Expect(first.Revision).Append(ctx, a, b)
	check(t, "the expected revision: the reason is the ids", nil, revision(err) == first.Revision)
	_, err = s.Append(ctx, a, b)
	check(t, "the ids, without Expect", nil, revision(err) == first.Revision)

	r, err := s.Append(ctx, a)
	check(t, "the stored one by itself", err, r.Duplicate && r.Revision == first.Revision)
	r, err = s.Append(ctx, b)
	check(t, "the other one by itself", err, !r.Duplicate && r.Revision > first.Revision)

	r, err = s.Expect(0).Append(ctx, a)
	check(t, "a retry after the revision has changed", err, r.Duplicate && r.Revision == first.Revision)
}
