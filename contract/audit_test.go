package contract

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// wrote is an add of two messages that took from start to start+10.
func wrote(writer, turn int, start int64, o outcome) event {
	e := event{Op: opAdd, Key: turnKey{writer, turn}, Parts: 2, Start: start, End: start + 10, Outcome: o}
	if o != saved {
		e.Err = "connection reset"
	}
	return e
}

// TestAuditNamesMessages: every kind of damage is called by its name, and nothing
// else is.
func TestAuditNamesMessages(t *testing.T) {
	s := newScript(7, "run", "session")
	turn := func(writer, turn int) []Message { return s.turn(turnKey{writer, turn}, 2) }
	a1, a2, b1 := turn(1, 1), turn(1, 2), turn(2, 1)
	all := []event{wrote(1, 1, 0, saved), wrote(1, 2, 100, saved), wrote(2, 1, 105, saved)}
	damaged := slices.Concat(a1, a2, b1)
	damaged[2].Content = strings.Replace(damaged[2].Content, " ", "", 2)
	other := newScript(7, "run", "other session").turn(turnKey{1, 1}, 2)
	for _, tt := range []struct {
		name   string
		events []event
		loaded []Message
		whole  bool
		want   string // kinds of findings in order, comma-separated; empty: all is well
	}{
		{"all there", all, slices.Concat(a1, a2, b1), true, ""},
		{"overlapping writers in the other order", all, slices.Concat(a1, b1, a2), true, ""},
		{"a turn lost", all, slices.Concat(a1, b1), true, "lost"},
		{"half a turn lost", all, slices.Concat(a1, a2[:1], b1), true, "lost"},
		{"a turn doubled", all, slices.Concat(a1, a2, b1, a2), true, "doubled,doubled"},
		{"turns of one writer swapped", all, slices.Concat(a2, a1, b1), true, "reordered"},
		{"messages of one turn swapped", all, slices.Concat(a1, a2, []Message{b1[1], b1[0]}), false, "reordered"},
		{"turns mixed", all, []Message{a1[0], a1[1], a2[0], b1[0], a2[1], b1[1]}, true, "torn,torn"},
		{"turns mixed, and it does not matter", all, []Message{a1[0], a1[1], a2[0], b1[0], a2[1], b1[1]}, false, ""},
		{"another session's", all, slices.Concat(a1, a2, b1, other), true, "foreign,foreign"},
		{"never written", all[:2], slices.Concat(a1, a2, b1), true, "foreign"},
		{"unreadable", all, append(slices.Concat(a1, a2, b1), Message{Role: "user", Content: "?"}), true, "damaged"},
		{"changed", all, damaged, true, "damaged,lost"},
		{"unknown and there", []event{wrote(1, 1, 0, unknown)}, a1, true, ""},
		{"unknown and not there", []event{wrote(1, 1, 0, unknown)}, nil, true, ""},
		{"unknown and there in part", []event{wrote(1, 1, 0, unknown)}, a1[:1], true, "lost"},
		{"refused and there", []event{wrote(1, 1, 0, refused)}, a1, true, "unsaved"},
		{"saved by the second attempt", []event{wrote(1, 1, 0, unknown), wrote(1, 1, 20, saved)}, a1, true, ""},
		{"saved by one of two attempts, and lost", []event{wrote(1, 1, 0, unknown), wrote(1, 1, 20, saved)}, nil,
			true, "lost"},
	} {
		a := audit{script: s, events: tt.events, whole: tt.whole}
		var got []string
		if v := (*violation)(nil); errors.As(a.check(tt.loaded), &v) {
			for _, f := range v.findings {
				got = append(got, f.what)
			}
		}
		if g := strings.Join(got, ","); g != tt.want {
			t.Errorf("%s: found %q, want %q: %v", tt.name, g, tt.want, a.check(tt.loaded))
		}
	}
}

func TestLabelsAreRead(t *testing.T) {
	s := newScript(1, "run", "session")
	for _, l := range []label{{s.token, turnKey{1, 1}, 1, 1}, {s.token, turnKey{12, 345}, 6, 78}} {
		m := s.message(l)
		if got, ok := parseLabel(m.Content); !ok || got != l || !s.genuine(got, m) {
			t.Errorf("%q is read as %+v", m.Content, got)
		}
	}
	for _, text := range []string{"", " | ", "[x w1 t1 1/2]", "hello | world", "[a wx t1 1/2] | x"} {
		if l, ok := parseLabel(text); ok {
			t.Errorf("%q is read as %+v", text, l)
		}
	}
}

func TestMessagesSurviveEncoding(t *testing.T) {
	for _, m := range []Message{
		{Role: "user", Content: "hi"}, {Role: "user"}, {Content: ""}, {Content: "\xff\x00"},
		{Role: "user", Content: "\xed\xa0\x80<&>\u2028"},
		{Role: "assistant", Content: "x", ToolCalls: []ToolCall{{"1", "f", `{"a":1}`}}},
		{Role: "tool", Content: "7", ToolCallID: "1"},
	} {
		if got := Decode(m.Encode()); !got.Equal(m) {
			t.Errorf("%s came back as %s", m, got)
		}
	}
}

// TestCasesAreDescribed: names are unique, every case says what it proves, for
// which incident, and there are no fewer than were promised.
func TestCasesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.ID()] || c.Name == "" || c.run == nil || !strings.HasSuffix(c.Proves, ".") ||
			Incidents[c.Incident] == "" {
			t.Errorf("case %s: %+v", c.ID(), c)
		}
		seen[c.ID()] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d cases", len(seen))
	}
}
