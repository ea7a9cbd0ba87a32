package contract

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A history is written as one call a word: aW.T an add by writer W, lW:N a load
// that shows the first N turns of the final order, with "!" for a refused and "?"
// for an unknown outcome. Calls in brackets overlap.
func parseHistory(t *testing.T, text, final string) []event {
	t.Helper()
	key := func(s string) turnKey {
		w, n, _ := strings.Cut(s, ".")
		return turnKey{int(w[0] - '0'), int(n[0] - '0')}
	}
	var order []turnKey
	for _, w := range strings.Fields(final) {
		order = append(order, key(w))
	}
	var events []event
	clock, open := int64(1000), int64(0)
	for _, w := range strings.Fields(text) {
		switch w {
		case "[":
			open = clock
			continue
		case "]":
			open = 0
			clock += 1000
			continue
		}
		e := event{Op: opAdd, Outcome: saved}
		e.Start = clock + int64(len(events)) + 1
		e.End = e.Start + 100
		if open == 0 {
			clock += 200
		} else {
			e.End = open + 900
		}
		body := strings.TrimRight(w, "!?")
		switch w[len(w)-1] {
		case '!':
			e.Outcome = refused
		case '?':
			e.Outcome = unknown
		}
		if body[0] == 'l' {
			e.Op = opLoad
			e.Key.Writer = int(body[1] - '0')
			e.Seen = order[:body[3]-'0']
		} else {
			e.Key, e.Parts = key(body[1:]), 1
		}
		events = append(events, e)
	}
	end := clock + 10_000
	return append(events, event{Op: opLoad, Outcome: saved, Seen: order, Start: end, End: end + 1})
}

func TestLinearizable(t *testing.T) {
	for _, tt := range []struct {
		name, history, final string
		ok                   bool
	}{
		{"one after another", "a1.1 l1:1 a2.1 l2:2", "1.1 2.1", true},
		{"overlapping, either order", "[ a1.1 a2.1 ] l1:2", "2.1 1.1", true},
		{"load among adds", "[ a1.1 a2.1 l3:1 ]", "2.1 1.1", true},
		{"unknown and saved", "a1.1? a2.1 l1:1 l1:2", "2.1 1.1", true},
		{"unknown and not saved", "a1.1? a2.1 l1:1", "2.1", true},
		{"stale load", "a1.1 l1:0", "1.1", false},
		{"loads go back", "[ a1.1? l1:1 ] l2:0", "1.1", false},
		{"order against the clock", "a1.1 a2.1", "2.1 1.1", false},
		{"saved by the first of two attempts", "a1.1? l2:1 a1.1 a3.1 l2:2", "1.1 3.1", true},
		{"saved by the second", "a1.1? l2:0 a1.1 l2:1", "1.1", true},
		{"refused, then saved", "a1.1! a2.1 a1.1", "2.1 1.1", true},
	} {
		err := checkLinearizable(parseHistory(t, tt.history, tt.final), time.Minute)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestUndecidedIsNoPass: a search that runs out of time says so. This one has to try
// 2^64 sets of calls, all at once and all refused, before it can say that none of them
// made the turn that the load shows.
func TestUndecidedIsNoPass(t *testing.T) {
	var events []event
	for w := range 64 {
		never := []turnKey{{w, 1}}
		events = append(events, event{Op: opAddIf, Key: turnKey{w, 2}, Seen: never, Outcome: refused, Start: int64(w),
			End: 1000})
	}
	events = append(events, event{Op: opLoad, Outcome: saved, Seen: []turnKey{{99, 1}}, Start: 5000, End: 5001})
	if err := checkLinearizable(events, time.Millisecond); !errors.Is(err, errUndecided) {
		t.Errorf("error %v", err)
	}
}

func TestConditionalSteps(t *testing.T) {
	a, b := turnKey{1, 1}, turnKey{2, 1}
	upon := func(k turnKey, seen []turnKey, o outcome, start int64) event {
		return event{Op: opAddIf, Key: k, Seen: seen, Outcome: o, Start: start, End: start + 5}
	}
	last := event{Op: opLoad, Outcome: saved, Seen: []turnKey{a, b}, Start: 100, End: 101}
	for _, tt := range []struct {
		name   string
		events []event
		ok     bool
	}{
		{"both upon what is there", []event{upon(a, nil, saved, 1), upon(b, []turnKey{a}, saved, 10), last}, true},
		{"two winners", []event{upon(a, nil, saved, 1), upon(b, nil, saved, 2), last}, false},
		{"false refusal", []event{upon(turnKey{3, 1}, nil, refused, 1), upon(a, nil, saved, 10),
			upon(b, []turnKey{a}, saved, 20), last}, false},
		{"true refusal", []event{upon(a, nil, saved, 1), upon(turnKey{3, 1}, nil, refused, 10),
			upon(b, []turnKey{a}, saved, 20), last}, true},
	} {
		if err := checkLinearizable(tt.events, time.Minute); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
