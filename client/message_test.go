package client

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A message can be edited and removed by its id or its seq. A retry of its append undoes neither.
func TestEditAndRemove(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx, s := t.Context(), c.Session("s")
	a, b, last := turn.NewMessage{ID: "a", Data: []byte("A")}, turn.NewMessage{ID: "b", Data: []byte("B")},
		turn.NewMessage{ID: "c"}
	first, err := s.Append(ctx, a, b, last)
	if err != nil {
		t.Fatal(err)
	}
	edit, err := s.Expect(first.Revision).Edit(ctx, turn.MessageRef{ID: "b"}, []byte("edited"))
	if err != nil || edit.First != 2 || edit.Count != 3 || edit.Revision <= first.Revision {
		t.Errorf("the edit: %+v, %v", edit, err)
	}
	_, err = s.Expect(first.Revision).Edit(ctx, turn.MessageRef{Seq: 2}, []byte("late"))
	if !turn.Is(err, turn.Conflict) {
		t.Errorf("an edit of an older revision: %v", err)
	}
	removed, err := s.Remove(ctx, turn.MessageRef{Seq: 1})
	if err != nil || removed.Removed != 1 || removed.Count != 2 {
		t.Errorf("the removal: %+v, %v", removed, err)
	}
	if again, err := s.Append(ctx, a, b, last); err != nil || !again.Duplicate || again.Revision != first.Revision {
		t.Errorf("a retry of the append: %+v, %v", again, err)
	}
	h, err := s.Last(ctx, 10)
	if err != nil || len(h.Messages) != 2 || h.Messages[0].Seq != 2 || string(h.Messages[0].Data) != "edited" ||
		h.Messages[0].ID != "b" || h.Messages[1].Seq != 3 || h.Revision != removed.Revision {
		t.Errorf("the session is %+v, %v", h, err)
	}
	if again, err := s.Remove(ctx, turn.MessageRef{ID: "a"}); err != nil || again.Removed != 0 {
		t.Errorf("the removal, again: %+v, %v", again, err)
	}
	if _, err := s.Edit(ctx, turn.MessageRef{ID: "a"}, nil); !turn.Is(err, turn.NotFound) {
		t.Errorf("an edit of a removed message: %v", err)
	}
	if _, err := c.Session("none").Edit(ctx, turn.MessageRef{Seq: 1}, nil); !turn.Is(err, turn.NotFound) {
		t.Errorf("an edit in no session: %v", err)
	}
	if _, err := s.Remove(ctx, turn.MessageRef{}); !turn.Is(err, turn.Invalid) {
		t.Errorf("the removal of no message: %v", err)
	}
}

// A session keeps its last messages, or turns, by itself; Info tells which.
func TestRetain(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx, s := t.Context(), c.Session("s")
	if _, err := s.Append(ctx, msg("a"), msg("b"), msg("c")); err != nil {
		t.Fatal(err)
	}
	set, err := s.Retain(ctx, turn.Retention{Messages: 2})
	if err != nil || set.Removed != 1 || set.Count != 2 {
		t.Errorf("the limit: %+v, %v", set, err)
	}
	if r, err := s.Append(ctx, msg("d")); err != nil || r.Count != 2 {
		t.Errorf("the append: %+v, %v", r, err)
	}
	if _, err := s.Expect(set.Revision).RetainAll(ctx); !turn.Is(err, turn.Conflict) {
		t.Errorf("a limit of an older revision: %v", err)
	}
	for _, keep := range []turn.Retention{{Turns: 3}, {}, {Messages: 5}} {
		set := func() (turn.Result, error) { return s.Retain(ctx, keep) }
		if keep == (turn.Retention{}) {
			set = func() (turn.Result, error) { return s.RetainAll(ctx) }
		}
		if _, err := set(); err != nil {
			t.Errorf("%+v: %v", keep, err)
		}
		if is, err := s.Info(ctx); err != nil || is.Retention != keep {
			t.Errorf("%+v is %+v, %v", keep, is.Retention, err)
		}
	}
	for _, wrong := range []turn.Retention{{Messages: 1, Turns: 1}, {}} {
		if _, err := s.Retain(ctx, wrong); !turn.Is(err, turn.Invalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if is, err := s.Info(ctx); err != nil || is.Retention.Messages != 5 {
		t.Errorf("refused limits leave %+v, %v", is.Retention, err)
	}
}

func TestRename(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx, s := t.Context(), c.Session("s")
	if _, err := s.Rename(ctx, "to", true); !turn.Is(err, turn.NotFound) {
		t.Errorf("a session that is not there: %v", err)
	}
	for _, key := range []string{"s", "there"} {
		if _, err := c.Session(key).Append(ctx, msg(key), msg("b")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Rename(ctx, "there", false); !turn.Is(err, turn.Exists) {
		t.Errorf("to a session that is there: %v", err)
	}
	if _, err := s.Expect(9).Rename(ctx, "there", true); !turn.Is(err, turn.Conflict) {
		t.Errorf("of another revision: %v", err)
	}
	if r, err := s.Rename(ctx, "there", true); err != nil || r.Count != 2 || r.Revision == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	ms, err := c.Session("there").Read(ctx, turn.Read{Limit: 1})
	if err != nil || len(ms.Messages) != 1 || string(ms.Messages[0].Data) != "b" || ms.Messages[0].Seq != 2 {
		t.Errorf("under the new key: %+v, %v", ms.Messages, err)
	}
	if _, err := s.Info(ctx); !turn.Is(err, turn.NotFound) {
		t.Errorf("under the old one: %v", err)
	}
}

// A tail delivers messages as they are when it comes to them.
func TestTailAfterEdits(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx, s := t.Context(), c.Session("s")
	if _, err := s.Append(ctx, msg("a"), msg("b"), msg("c")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for m, err := range s.Tail(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, string(m.Data)); m.Seq == 5 {
			break
		}
		if m.Seq != 3 {
			continue
		}
		if _, err := s.Edit(ctx, turn.MessageRef{Seq: 1}, []byte("edited")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, msg("d")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Remove(ctx, turn.MessageRef{Seq: 4}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, msg("e")); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"a", "b", "c"} {
		if got[i] != want {
			t.Errorf("the tail delivered %q", got)
		}
	}
	// Whether the removed one was still there when the tail came to it is left open.
	if n := len(got); got[n-1] != "e" || n > 5 || n == 5 && got[3] != "d" {
		t.Errorf("the tail delivered %q", got)
	}
}
