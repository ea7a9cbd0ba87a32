package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// TestEveryOperation goes through the whole interface against a real node.
func TestEveryOperation(t *testing.T) {
	ctx := t.Context()
	addr := realServer(t)
	c := newTestClient(t, Config{Addrs: []string{addr}})
	s := c.Session("a\x00 key\r\n")

	h, err := s.Last(ctx, 20)
	check(t, "read of nothing", err, h.Revision == 0 && h.Count == 0 && len(h.Messages) == 0)
	_, err = s.Info(ctx)
	check(t, "info of nothing", nil, turn.Is(err, turn.NotFound))

	r, err := s.Expect(0).Append(ctx, turn.NewMessage{ID: "q", Data: []byte("\xff\x00\r\n")},
		turn.NewMessage{Data: nil})
	check(t, "first append", err, r.First == 1 && r.Last == 2 && r.Count == 2 && !r.Duplicate)
	_, err = s.Expect(0).Append(ctx, msg("late"))
	e := (*turn.Error)(nil)
	check(t, "conflict", nil, errors.As(err, &e) && e.Kind == turn.Conflict && e.Revision == r.Revision)
	_, err = s.Append(ctx, turn.NewMessage{ID: "q", Data: []byte("another")})
	check(t, "id reused", nil, turn.Is(err, turn.IDReused))

	h, err = s.Read(ctx, turn.Read{From: turn.FromBefore, Seq: 2})
	check(t, "read before", err, len(h.Messages) == 1 && string(h.Messages[0].Data) == "\xff\x00\r\n" &&
		h.Messages[0].ID == "q" && h.Revision == r.Revision)
	h, err = s.Stale().Read(ctx, turn.Read{From: turn.FromAfter, Seq: 1, Limit: 5})
	check(t, "stale read after", err, len(h.Messages) == 1 && h.Messages[0].Seq == 2 && len(h.Messages[0].Data) == 0)
	h, err = s.Bounded(time.Second).Read(ctx, turn.Read{MaxBytes: 1, MaxTokens: 1})
	check(t, "bounded read, cut", err, h.More && len(h.Messages) == 1 && h.Messages[0].Seq == 2)

	r, err = s.SetMetadata(ctx, map[string]string{"title": "x", "SET": "y", "gone": "z"})
	check(t, "set meta", err, r.Revision > 0)
	_, err = s.Expect(r.Revision).SetMetadata(ctx, nil, "gone")
	check(t, "unset meta", err, true)
	meta, err := s.Metadata(ctx)
	check(t, "get meta", err, len(meta) == 2 && meta["SET"] == "y")

	fork := c.Session("fork")
	r, err = s.Fork(ctx, "fork", 1)
	check(t, "fork", err, r.Count == 1)
	_, err = s.Fork(ctx, "fork", 1)
	check(t, "fork again", nil, turn.Is(err, turn.Exists))
	r, err = fork.Replace(ctx, 1, msg("instead"), msg("and more"))
	check(t, "replace", err, r.Removed == 1 && r.Count == 2 && r.First == 2)
	r, err = fork.Replace(ctx, 3)
	check(t, "cut off", err, r.Removed == 1 && r.Count == 1)
	ms, err := fork.Pop(ctx, 5, turn.Newest)
	check(t, "pop", err, len(ms) == 1 && string(ms[0].Data) == "instead")

	for i := range 5 {
		_, err = fork.Append(ctx, msg(fmt.Sprint(i)))
		check(t, "append", err, true)
	}
	r, err = fork.TrimKeep(ctx, 3)
	check(t, "trim keep", err, r.Removed == 2 && r.Count == 3)
	r, err = fork.TrimBefore(ctx, 8)
	check(t, "trim before", err, r.Removed == 2 && r.Count == 1)
	r, err = fork.Clear(ctx)
	check(t, "clear", err, r.Removed == 1)

	ok, err := s.Expire(ctx, time.Hour, true)
	check(t, "expire", err, ok)
	info, err := s.Info(ctx)
	check(t, "info", err, info.Key == turn.Key{Namespace: "0", Name: s.Key()} && info.Count == 2 &&
		info.Slide == 3_600_000 &&
		info.ExpiresAt > info.Updated && info.Metadata["title"] == "x" && info.First == 1 && info.Bytes == 4)
	ok, err = s.Persist(ctx)
	check(t, "persist", err, ok)
	ok, err = s.ExpireAt(ctx, time.Unix(1<<64/1000+1, 0)) // in milliseconds, 384 if it overflows
	check(t, "expire in millions of years", err, ok)
	info, err = s.Info(ctx)
	check(t, "its deadline", err, info.ExpiresAt > info.Updated)
	ok, err = s.ExpireAt(ctx, time.UnixMilli(1))
	check(t, "expire at a time in the past", err, ok)
	ok, err = s.Delete(ctx)
	check(t, "delete of an expired session", err, !ok)
	_, err = s.TTL(time.Hour).Append(ctx, msg("back"))
	check(t, "append with ttl", err, true)
	info, err = s.Info(ctx)
	check(t, "its deadline", err, info.ExpiresAt-info.Created == 3_600_000)

	cl, err := c.Cluster(ctx)
	check(t, "cluster", err, cl.Leader == "n1" && len(cl.Nodes) == 1)
}

func check(t *testing.T, what string, err error, ok bool) {
	t.Helper()
	if err != nil || !ok {
		t.Errorf("%s: error %v, as expected: %v", what, err, ok)
	}
}

// Sessions are found by labels, the one that changed last first.
func TestLabelled(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx := t.Context()
	for _, k := range []string{"a", "b", "c", "d"} {
		labels := map[string]string{"label.user": "u1", "label.even": fmt.Sprint(k == "b" || k == "d")}
		_, err := c.Session(k).Setting(labels).Append(ctx, turn.NewMessage{Data: []byte(k)})
		check(t, "append", err, true)
	}
	_, err := c.Session("b").Append(ctx, turn.NewMessage{Data: []byte("more")})
	check(t, "append", err, true)
	var keys []string
	for s, err := range c.Labelled(ctx, turn.Label{Name: "user", Value: "u1"}) {
		check(t, "list", err, s.Metadata["label.user"] == "u1")
		keys = append(keys, s.Key.Name)
	}
	check(t, fmt.Sprint("listed: ", keys), nil, slices.Equal(keys, []string{"b", "d", "c", "a"}))
	page, cursor, err := c.LabelledPage(ctx, "", "", 2, turn.Label{Name: "user", Value: "u1"})
	check(t, "the first page", err, len(page) == 2 && cursor != "")
	page, cursor, err = c.LabelledPage(ctx, "", cursor, 3, turn.Label{Name: "user", Value: "u1"})
	check(t, "the last page", err, len(page) == 2 && page[0].Key.Name == "c" && cursor == "")
	page, _, err = c.LabelledPage(ctx, "d", "", 9, turn.Label{Name: "user", Value: "u1"},
		turn.Label{Name: "even", Value: "true"})
	check(t, "by two labels and a prefix", err, len(page) == 1 && page[0].Key.Name == "d")
	_, _, err = c.LabelledPage(ctx, "", "", 9)
	check(t, "by none", nil, turn.Is(err, turn.Invalid))
}

func TestSessionsAndNamespaces(t *testing.T) {
	ctx := t.Context()
	addr := realServer(t)
	mine := newTestClient(t, Config{Addrs: []string{addr}})
	other := newTestClient(t, Config{Addrs: []string{addr}, Namespace: "tenant-2"})
	const n = 25
	for i := range n {
		if _, err := mine.Session(fmt.Sprintf("user/%02d", i)).Append(ctx, msg("x")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Session("user/00").Append(ctx, msg("theirs")); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for cursor := ""; ; {
		page, next, err := mine.SessionsPage(ctx, "user/", cursor, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page {
			keys = append(keys, s.Key.Name)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(keys) != n || keys[0] != "user/00" || keys[n-1] != "user/24" {
		t.Errorf("listed %q", keys)
	}
	removed, err := mine.Erase(ctx, "user/1")
	check(t, "erase by prefix", err, removed == 10)
	left := 0
	for s, err := range mine.Sessions(ctx, "") {
		check(t, "list", err, s.Key.Name[:6] != "user/1")
		left++
	}
	check(t, "what is left", nil, left == n-10)
	h, err := other.Session("user/00").Last(ctx, 1)
	check(t, "the other namespace", err, h.Count == 1 && string(h.Messages[0].Data) == "theirs")
}
