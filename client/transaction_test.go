package client

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func kindIn(err error) (k turn.Kind, condition, step int) {
	if e := turn.AsError(err); e != nil {
		return e.Kind, e.Condition, e.Step
	}
	return turn.None, 0, 0
}

// Each step does what the call for one key does, in order, and the answer says what.
func TestTransactionStepsAnswerAsCallsDo(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx := t.Context()
	if _, err := c.Session("old").Append(ctx, msg("a"), msg("b"), msg("c")); err != nil {
		t.Fatal(err)
	}
	tx := c.Transaction().IfAbsent("s").IfExists("old").IfSeq("old", 3).
		Append("s", msg("1"), msg("2")).
		SetMetadata("s", map[string]string{"user": "u1"}).
		SetFields("state", turn.Field{Name: "x", Value: []byte("1")}, turn.Field{Name: "y", Value: []byte("2")}).
		RemoveFields("state", "y", "z").
		TrimKeep("old", 1).
		Expire("s", time.Hour, true).
		Append("s", msg("3")).
		Clear("old")
	r, err := tx.Commit(ctx)
	if err != nil || r.Duplicate || len(r.Steps) != 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	var got []string
	for _, s := range r.Steps {
		got = append(got, fmt.Sprint(s.Result.First, s.Result.Last, s.Result.Count, s.Result.Removed, s.Result.Number))
	}
	want := []string{"1 2 2 0 0", "0 0 0 0 0", "0 0 0 0 2", "0 0 0 1 0", "0 0 1 2 0", "0 0 0 1 0", "3 3 3 0 0",
		"0 0 0 1 0"}
	if !slices.Equal(got, want) {
		t.Errorf("the steps answer %q, want %q", got, want)
	}
	if s, err := c.Session("s").Info(ctx); err != nil || s.Count != 3 || s.Metadata["user"] != "u1" || s.Slide == 0 {
		t.Errorf("after it: %+v, %v", s, err)
	}
	again, err := tx.Commit(ctx)
	if err != nil || !again.Duplicate || again.Revision != r.Revision || again.Steps[0].Result.Last != 2 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := c.Transaction().Delete("old").Delete("state").Persist("s").Commit(ctx); err != nil {
		t.Error(err)
	}
	if s, err := c.Session("s").Info(ctx); err != nil || s.ExpiresAt != 0 {
		t.Errorf("after Persist: %+v, %v", s, err)
	}
}

// So do the steps that depend on what a session holds.
func TestTransactionStepsOnMessages(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx := t.Context()
	for _, key := range []string{"s", "t", "old"} {
		for _, id := range []string{"a", "b", "c"} {
			if _, err := c.Session(key).Append(ctx, turn.NewMessage{ID: id, Data: []byte(id)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	tx := c.Transaction().
		Edit("s", turn.MessageRef{ID: "a"}, []byte("x")).
		Remove("s", turn.MessageRef{Seq: 2}).
		Replace("s", 3, msg("y")).
		Pop("t", 2, turn.Head).
		Retain("t", turn.Retention{Messages: 1}).
		RetainAll("s").
		Retain("u", turn.Retention{Turns: 3}).
		Rename("old", "new", true)
	r, err := tx.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Steps {
		got = append(got, fmt.Sprint(s.Result.First, s.Result.Last, s.Result.Count, s.Result.Removed))
	}
	want := []string{"1 1 3 0", "0 0 2 1", "4 4 2 1", "0 0 1 0", "0 0 1 0", "0 0 2 0", "0 0 0 0", "0 0 3 0"}
	if !slices.Equal(got, want) {
		t.Errorf("the steps answer %q, want %q", got, want)
	}
	again, err := tx.Commit(ctx)
	for _, r := range []turn.Result{r, again} {
		if m := r.Steps[3].Result.Messages; err != nil || len(m) != 2 || m[0].ID != "a" || string(m[1].Data) != "b" {
			t.Errorf("popped are %+v, %v", m, err)
		}
	}
	h, err := c.Session("s").Last(ctx, 9)
	if err != nil || len(h.Messages) != 2 || string(h.Messages[0].Data) != "x" || string(h.Messages[1].Data) != "y" {
		t.Errorf("s holds %+v, %v", h.Messages, err)
	}
	if s, err := c.Session("u").Info(ctx); err != nil || s.Retention.Turns != 3 {
		t.Errorf("u is %+v, %v", s, err)
	}
	if _, err := c.Transaction().Append("s", msg("z")).Pop("s", 1, turn.Tail).Commit(ctx); !turn.Is(err, turn.Invalid) {
		t.Errorf("a pop behind an append: %v", err)
	}
}

// A condition that does not hold, or a step that is refused, leaves all as it was, and the error says
// which it is.
func TestTransactionRefusedChangesNothing(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	ctx := t.Context()
	first, err := c.Session("s").Append(ctx, turn.NewMessage{ID: "m1", Data: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transaction().SetFields("h", turn.Field{Name: "f", Value: []byte("v")}).Commit(ctx); err != nil {
		t.Fatal(err)
	}
	changes := func() *Transaction {
		return c.Transaction().Append("other", msg("x")).SetMetadata("s", map[string]string{"k": "v"})
	}
	for _, test := range []struct {
		name            string
		tx              *Transaction
		kind            turn.Kind
		condition, step int
	}{
		{"another revision", changes().IfExists("s").IfRevision("s", first.Revision+7), turn.Conflict, 2, 0},
		{"another seq", changes().IfSeq("s", 2), turn.Conflict, 1, 0},
		{"it exists", changes().IfAbsent("h"), turn.Conflict, 1, 0},
		{"it does not", changes().IfExists("none"), turn.Conflict, 1, 0},
		{"another type", changes().Append("h", msg("x")), turn.WrongType, 0, 3},
		{"known messages", changes().Append("s", turn.NewMessage{ID: "m1", Data: []byte("a")}), turn.Conflict, 0, 3},
		{"an id with another payload", changes().Append("s", turn.NewMessage{ID: "m1", Data: []byte("b")}),
			turn.IDReused, 0, 3},
		{"a type of its own", changes().SetFields("other", turn.Field{Name: "f"}), turn.WrongType, 0, 3},
		{"too much metadata", changes().SetMetadata("s", map[string]string{"l": string(make([]byte, 16<<10-1))}),
			turn.TooLarge, 0, 3},
	} {
		_, err := test.tx.Commit(ctx)
		kind, condition, step := kindIn(err)
		if kind != test.kind || condition != test.condition || step != test.step {
			t.Errorf("%s: %v (condition %d, step %d)", test.name, err, condition, step)
		}
	}
	if s, err := c.Session("s").Info(ctx); err != nil || s.Revision != first.Revision || len(s.Metadata) > 0 {
		t.Errorf("the session is %+v, %v", s, err)
	}
	if _, err := c.Session("other").Info(ctx); !turn.Is(err, turn.NotFound) {
		t.Errorf("the other session: %v", err)
	}
	tx := c.Transaction().ID("t").Append("s", msg("x"))
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Append("s", msg("y")).Commit(ctx); !turn.Is(err, turn.IDReused) {
		t.Errorf("another transaction of the same id: %v", err)
	}
}

// Clients move units between two sessions' counters, over a connection that loses answers. No unit
// comes or goes, and each transaction takes place once.
func TestTransactionsOverLostAnswers(t *testing.T) {
	addr := realServer(t)
	direct := newTestClient(t, Config{Addrs: []string{addr}})
	lossy := newTestClient(t, Config{Addrs: []string{newCutter(t, addr, 4).Addr()}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const workers, each = 4, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				a, b := fmt.Sprint("k", rand.IntN(3)), fmt.Sprint("l", rand.IntN(3))
				if _, err := lossy.Transaction().Append(a, msg(fmt.Sprint(w, "-", i))).
					Append(b, msg(fmt.Sprint(w, "-", i))).Commit(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	count := map[string]int{}
	for s, err := range direct.Sessions(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range direct.Session(s.Key.Name).All(ctx, 0) {
			if err != nil {
				t.Fatal(err)
			}
			count[s.Key.Name[:1]+string(m.Data)]++
		}
	}
	if len(count) != 2*workers*each {
		t.Errorf("%d messages, want %d", len(count), 2*workers*each)
	}
	for m, n := range count {
		if n != 1 {
			t.Errorf("message %s is there %d times", m, n)
		}
	}
}

// A transaction whose answer is lost is sent again, with the same id.
func TestTransactionIsSentAgain(t *testing.T) {
	f := newFake(t, steps(cut, func(w *resp.Writer) bool {
		w.Map(3)
		w.BulkString("revision")
		w.Int(7)
		w.BulkString("duplicate")
		w.Int(1)
		w.BulkString("steps")
		w.Array(1)
		w.Map(0)
		return true
	}))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	r, err := c.Transaction().Append("s", msg("x")).Commit(t.Context())
	if err != nil || r.Revision != 7 || !r.Duplicate {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Transaction().Commit(t.Context()); !turn.Is(err, turn.Invalid) {
		t.Errorf("a transaction without steps: %v", err)
	}
}

// An append changes metadata with its messages or not at all, once, and only of a session that exists if
// that is asked for. A read returns both, of one revision.
func TestAppendWithMetadata(t *testing.T) {
	s := newTestClient(t, Config{Addrs: []string{realServer(t)}}).Session("s")
	ctx := t.Context()
	if _, err := s.Existing().Append(ctx, msg("a")); !turn.Is(err, turn.NotFound) {
		t.Errorf("there is no session: %v", err)
	}
	first := turn.NewMessage{ID: "m1", Data: []byte("a")}
	r, err := s.Setting(map[string]string{"k": "1", "l": "2"}).Append(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(revision uint64, messages int, want map[string]string) {
		t.Helper()
		h, err := s.WithMetadata().Last(ctx, 9)
		if err != nil || h.Revision != revision || len(h.Messages) != messages || !maps.Equal(h.Metadata, want) {
			t.Errorf("%+v, %v; want revision %d and %v", h, err, revision, want)
		}
	}
	expect(r.Revision, 1, map[string]string{"k": "1", "l": "2"})
	if again, err := s.Setting(map[string]string{"k": "9"}).Append(ctx, first); err != nil || !again.Duplicate {
		t.Errorf("again: %+v, %v", again, err)
	}
	other := s.Expect(r.Revision + 5).Setting(map[string]string{"k": "9"})
	if _, err := other.Append(ctx, msg("b")); !turn.Is(err, turn.Conflict) {
		t.Errorf("at another revision: %v", err)
	}
	most := map[string]string{"m": string(make([]byte, 16<<10-3))}
	if _, err := s.Setting(most).Append(ctx, msg("b")); !turn.Is(err, turn.TooLarge) {
		t.Errorf("too much metadata: %v", err)
	}
	expect(r.Revision, 1, map[string]string{"k": "1", "l": "2"})
	r, err = s.Existing().Setting(map[string]string{"k": "3"}, "l").Append(ctx, msg("b"))
	if err != nil {
		t.Fatal(err)
	}
	expect(r.Revision, 2, map[string]string{"k": "3"})
	if h, err := s.Last(ctx, 1); err != nil || h.Metadata != nil {
		t.Errorf("metadata that was not asked for: %+v, %v", h, err)
	}
}
