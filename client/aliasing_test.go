package client

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A program may use its slices and maps again as soon as the method that got them has returned.
func TestTransactionCopiesSlicesAndMaps(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	tx := c.Transaction()
	messages, fields, names := make([]turn.NewMessage, 1), make([]turn.Field, 1), []string{"absent"}
	metadata := map[string]string{}
	for _, key := range []string{"a", "b"} {
		messages[0] = msg(key)
		fields[0] = turn.Field{Name: key, Value: []byte(key)}
		metadata["of"] = key
		tx.Append(key, messages...).SetMetadata(key, metadata).SetFields("hash-"+key, fields...).
			RemoveFields("hash-"+key, names...)
		names[0] = "a" // of the second hash, which has no such field
	}
	names[0] = "b"
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b"} {
		h, err := c.Session(key).WithMetadata().Last(t.Context(), 1)
		if err != nil || len(h.Messages) != 1 || string(h.Messages[0].Data) != key || h.Metadata["of"] != key {
			t.Errorf("session %s: %v, %v, %v", key, h.Messages, h.Metadata, err)
		}
		all, err := c.Hash("hash-" + key).All(t.Context())
		if err != nil || fmt.Sprintf("%s", all) != fmt.Sprintf("map[%s:%[1]s]", key) {
			t.Errorf("hash %s: %s, %v", key, all, err)
		}
	}
}

// The handle of Setting sets what it was given, whatever becomes of the map.
func TestSettingCopies(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	set, unset := map[string]string{"a": "1"}, []string{"absent"}
	s := c.Session("s").Setting(set, unset...)
	set["a"], set["b"], unset[0] = "2", "2", "a"
	if _, err := s.Append(t.Context(), msg("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Metadata(t.Context()); err != nil || fmt.Sprint(got) != "map[a:1]" {
		t.Errorf("%v, %v", got, err)
	}
}

// Messages that a read returned are the caller's: appending to one payload does not change the next.
func TestPayloadsShareNoMemory(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	s := c.Session("s")
	if _, err := s.Append(t.Context(), msg("one"), msg("two"), msg("three")); err != nil {
		t.Fatal(err)
	}
	h, err := s.Last(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Messages {
		_ = append(h.Messages[i].Data, "xxxxxxxxxxxxxxxxxxxxxxxx"...)
	}
	for i, want := range []string{"one", "two", "three"} {
		if got := string(h.Messages[i].Data); got != want {
			t.Errorf("message %d is %q now, was %q", i, got, want)
		}
	}
}

// An empty id of NewID would have a retry stored twice.
func TestNewIDIsNeverEmpty(t *testing.T) {
	f := newFake(t, steps(appended))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, NewID: func() string { return "" }})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.requests() {
		for i, a := range r {
			if a == "MSG" && len(r[i+1]) != 32 {
				t.Errorf("%q", r)
			}
		}
	}
}
