package fsm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// sized is a rig whose answers have bounds of 1 and 1.25 MiB, and what an answer to a query takes between nodes.
func sized(t *testing.T) (r *rig, ask func(turn.Query) (turn.Result, error)) {
	r = newRig(t)
	r.m.cfg.ReadBytes = 1 << 20
	most := turn.Limits{ReadBytes: 1 << 20}.AnswerBytes()
	return r, func(q turn.Query) (turn.Result, error) {
		t.Helper()
		got, err := r.m.Query(q)
		b, bad := codec.EncodeResult(&got)
		if bad != nil {
			t.Fatal(bad)
		}
		if len(b) > most+64<<10 {
			t.Errorf("%+v is answered with %d bytes, of %d at most", q, len(b), most)
		}
		return got, err
	}
}

// Ids count, too, and so does what each message takes beside its payload: what one node answers fits what it sends
// another.
func TestIDsCountInAnswers(t *testing.T) {
	r, ask := sized(t)
	const all = 16_000
	for i := range all / 1000 {
		o := &turn.Append{Key: sessionA}
		for j := range 1000 {
			o.Messages = append(o.Messages, turn.NewMessage{ID: fmt.Sprintf("%064d", 1000*i+j), Data: make([]byte, 8)})
		}
		r.apply(int64(i+1), o)
	}
	want := turn.Limits{ReadBytes: 1 << 20}.AnswerBytes() / (turn.ItemBytes + 64 + 8)
	for _, q := range []*turn.Read{{From: turn.FromAfter}, {From: turn.FromLast}, {From: turn.FromLast, Whole: true},
		{From: turn.FromAfter, MaxTokens: 1 << 30}, {From: turn.FromAfter, Limit: all},
		{From: turn.FromAfter, Until: 1 << 40}} {
		q.Key = sessionA
		if got, err := ask(q); len(got.Messages) != want || !got.More || err != nil {
			t.Errorf("%+v: %d messages, more %v, %v; want %d", q, len(got.Messages), got.More, err, want)
		}
	}
	n := 0
	for q := (&turn.Read{Key: sessionA, From: turn.FromAfter}); ; {
		got, err := ask(q)
		if err != nil {
			t.Fatal(err)
		}
		if n += len(got.Messages); !got.More {
			break
		}
		q.Seq = got.Messages[len(got.Messages)-1].Seq
	}
	if n != all {
		t.Errorf("answer by answer, %d of %d messages are read", n, all)
	}
	if got, err := ask(&turn.List{Key: sessionA, Start: 9, Stop: int64(8 + want)}); len(got.Messages) != want {
		t.Errorf("a range that just fits has %d elements, %v", len(got.Messages), err)
	}
	if _, err := ask(&turn.List{Key: sessionA, Start: 9, Stop: int64(9 + want)}); turn.KindOf(err) != turn.TooLarge {
		t.Errorf("a range with one more element: %v", err)
	}
}

// Pages of sessions have a bound of their metadata, too, with labels and without.
func TestPagesOfLargeSessions(t *testing.T) {
	r, ask := sized(t)
	r.raise(turn.Level2)
	const all = 150
	for i := range all {
		r.apply(int64(i+1), &turn.Append{Key: turn.Key{Namespace: "0", Name: fmt.Sprintf("s%03d", i)},
			Messages: []turn.NewMessage{{Data: []byte("x")}},
			Set:      map[string]string{"label.a": "b", "m": strings.Repeat("x", 15<<10)}})
	}
	for _, q := range []*turn.Sessions{{}, {Labels: []turn.Label{{Name: "a", Value: "b"}}}} {
		q.Namespace, q.Limit = "0", 1000
		seen, pages := make(map[string]bool), 0
		for {
			got, err := ask(q)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range got.Sessions {
				seen[s.Key.Name] = true
			}
			pages++
			if q.Cursor = got.Cursor; q.Cursor == "" {
				break
			}
		}
		if len(seen) != all || pages != 2 {
			t.Errorf("labels %v: %d of %d sessions on %d pages", q.Labels, len(seen), all, pages)
		}
	}
}

// Fields without content take memory, too, and the names that a lookup repeats.
func TestFieldsCountInAnswers(t *testing.T) {
	r, ask := sized(t)
	stream, hash := turn.Key{Namespace: "0", Name: "stream"}, turn.Key{Namespace: "0", Name: "hash"}
	for i := range 5 {
		r.apply(int64(i+1), &turn.AddEntry{Key: stream, Make: turn.IDMade, Fields: make([]turn.Field, 10_000)})
	}
	got, err := ask(&turn.Entries{Key: stream, Max: turn.MaxEntryID()})
	if len(got.Entries) != 3 || !got.More || err != nil {
		t.Errorf("of 5 entries, %d are answered, more %v, %v", len(got.Entries), got.More, err)
	}
	r.apply(6, &turn.SetFields{Key: hash, Type: turn.TypeHash, Fields: []turn.Field{{Name: "a", Value: []byte("b")}}})
	q := &turn.Fields{Key: hash, Type: turn.TypeHash}
	for range 42 {
		q.Names = append(q.Names, string(bytes.Repeat([]byte("n"), 30_000)))
	}
	if _, err := ask(q); err != nil {
		t.Errorf("names that just fit: %v", err)
	}
	q.Names = append(q.Names, strings.Repeat("n", 30_000), strings.Repeat("n", 30_000))
	if _, err := ask(q); turn.KindOf(err) != turn.TooLarge {
		t.Errorf("more names: %v", err)
	}
}
