package client

import (
	"bytes"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// Fields of a hash can be larger than metadata, are set and removed one by one, and are not those of a
// session.
func TestHash(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx, h := t.Context(), c.Hash("state")
	if all, err := h.All(ctx); err != nil || len(all) != 0 {
		t.Errorf("there is none: %q, %v", all, err)
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	r, err := h.Set(ctx, turn.Field{Name: "large", Value: large}, turn.Field{Name: "a"},
		turn.Field{Name: "b\x00", Value: []byte("\xff")})
	if err != nil || r.Number != 3 || r.Revision == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	got, err := h.Get(ctx, "a", "none", "large")
	if err != nil || len(got) != 2 || !bytes.Equal(got["large"], large) || len(got["a"]) != 0 {
		t.Errorf("%d fields, %v", len(got), err)
	}
	if r, err := h.Remove(ctx, "large", "none"); err != nil || r.Removed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if all, err := h.All(ctx); err != nil || len(all) != 2 || string(all["b\x00"]) != "\xff" {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := c.Session("s").Append(ctx, msg("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hash("s").Set(ctx, turn.Field{Name: "a"}); !turn.Is(err, turn.WrongType) {
		t.Errorf("a session: %v", err)
	}
	if _, err := c.Hash("s").All(ctx); !turn.Is(err, turn.WrongType) {
		t.Errorf("a session: %v", err)
	}
	if _, err := h.Get(ctx); !turn.Is(err, turn.Invalid) {
		t.Errorf("no names: %v", err)
	}
}
