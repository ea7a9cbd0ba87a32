package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each script is what a driver did with conversation c: "3" was acknowledged, "3!"
// was reported as failed, "3?" as refused, "[1 2]" is what a read showed and "=[1 2]" the last one.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		about, script string
		want          verdict
	}{
		{"all there", "0 1 2 [0 1 2] 3 =[0 1 2 3]", verdict{attempted: 4, acked: 4}},
		{"lost", "0 1 2 =[0 2]", verdict{attempted: 3, acked: 3, lost: 1}},
		{"lost at the end", "0 1 2 =[0 1]", verdict{attempted: 3, acked: 3, lost: 1}},
		{"all lost", "0 1 =[]", verdict{attempted: 2, acked: 2, lost: 2}},
		{"doubled", "0 1 2 =[0 1 1 2 1]", verdict{attempted: 3, acked: 3, doubled: 2}},
		{"a late copy is no disorder", "0 1 2 =[0 1 2 0]", verdict{attempted: 3, acked: 3, doubled: 1}},
		{"out of order", "0 1 2 =[0 2 1]", verdict{attempted: 3, acked: 3, reordered: 1}},
		{"foreign", "0 =[0 x/0]", verdict{attempted: 1, acked: 1, foreign: 1}},
		{"never sent", "0 =[0 1]", verdict{attempted: 1, acked: 1, foreign: 1}},
		{"mangled", "0 =[0 00]", verdict{attempted: 1, acked: 1, foreign: 1}},
		{"failed and absent", "0 1! 2 =[0 2]", verdict{attempted: 3, acked: 2}},
		{"failed, yet stored", "0 1! 2 =[0 1 2]", verdict{attempted: 3, acked: 2, appeared: 1}},
		{"failed, stored late", "0 1! 2 3 =[0 2 3 1]", verdict{attempted: 4, acked: 3, appeared: 1}},
		{"failed, stored before it was sent", "0 1! =[1 0]",
			verdict{attempted: 2, acked: 1, appeared: 1, reordered: 1}},
		{"failed, stored twice", "0 1! 2 =[0 1 2 1]", verdict{attempted: 3, acked: 2, appeared: 1, doubled: 1}},
		{"refused and absent", "0 1? 2 =[0 2]", verdict{attempted: 3, acked: 2}},
		{"refused, yet stored", "0 1? 2 =[0 1 2]", verdict{attempted: 3, acked: 2, appeared: 1, dishonest: 1}},
		{"a read from the past", "0 1 [0] 2 =[0 1 2]", verdict{attempted: 3, acked: 3, stale: 1}},
		{"a read from the future", "0 [0 1] 1 =[0 1]", verdict{attempted: 2, acked: 2}},
		{"no last read", "0 1 [0 1]", verdict{attempted: 2, acked: 2, unread: 1}},
	} {
		got := play(t, c.script).judge()
		got.examples = nil
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", c.about, c.script, got, c.want)
		}
	}
}

// play takes a script as lines of a driver.
func play(t *testing.T, script string) *record {
	r := newRecord()
	for _, word := range words(script) {
		l := line{}
		list, isView := strings.CutPrefix(strings.TrimPrefix(word, "="), "[")
		switch {
		case isView:
			for _, m := range strings.Fields(strings.TrimSuffix(list, "]")) {
				if !strings.Contains(m, "/") {
					m = "c/" + m
				}
				l.Seen = append(l.Seen, m)
			}
			if word[0] == '=' {
				l.Final = "c"
			} else {
				l.Read = "c"
			}
		default:
			fmt.Sscan(strings.TrimRight(word, "!?"), &l.N)
			l.Add = "c"
			switch word[len(word)-1] {
			case '!':
				l.Error = "no answer"
			case '?':
				l.Error = "LOADING no leader; " + refusal
			}
		}
		// The way that lines come.
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back line
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		r.take(back)
	}
	return r
}

// words splits a script at spaces outside of brackets.
func words(script string) (all []string) {
	depth, start := 0, 0
	for i, c := range script + " " {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ' ' && depth == 0:
			if i > start {
				all = append(all, script[start:i])
			}
			start = i + 1
		}
	}
	return all
}

// What must not be is a failure, and copies are one only where no client resends.
func TestProblems(t *testing.T) {
	bad := []verdict{{acked: 1, lost: 1}, {acked: 1, stale: 1}, {acked: 1, reordered: 1}, {acked: 1, foreign: 1},
		{acked: 1, unread: 1}, {acked: 1, doubled: 1}, {}}
	if len(result{verdict: verdict{acked: 1, appeared: 1, dishonest: 1}}.problems()) == 0 {
		t.Error("a refused message that was stored passes")
	}
	for _, v := range bad {
		for _, l := range []library{{}, {resends: "somebody", ids: true}} {
			if len(result{verdict: v, subject: l}.problems()) == 0 {
				t.Errorf("%+v passes for %+v", v, l)
			}
		}
	}
	resending := result{verdict: verdict{acked: 1, doubled: 1}, subject: library{resends: "somebody"}}
	for _, r := range []result{resending, {verdict: verdict{attempted: 2, acked: 1, appeared: 1}}} {
		if p := r.problems(); len(p) > 0 {
			t.Errorf("%+v: %v", r, p)
		}
	}
}

// Names are used on the command line and as parts of keys.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range libraries() {
		if strings.Contains(l.name, ",") || seen[fileName(l.name)] {
			t.Errorf("%q has a comma, or looks like another", l.name)
		}
		seen[fileName(l.name)] = true
	}
}

// TestToday: each library that takes its turn in the short form has its day.
func TestToday(t *testing.T) {
	all, seen := libraries(), map[string]bool{}
	for day := range len(all) {
		l := today(all, time.Date(2026, 11, 26+day, 23, 59, 59, 0, time.UTC))
		if !l.daily {
			t.Errorf("%q takes no turns", l.name)
		}
		seen[l.name] = true
	}
	for _, l := range all {
		if l.daily && !seen[l.name] {
			t.Errorf("%q has no day", l.name)
		}
	}
}
