package lincheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
)

// moveHistory is keyHistory for transactions, and for snapshots such as "2-3 SNAPSHOT → 7 1:a 2:b#1 | 0 | 9 4:c": the
// revision of each session, and its messages.
func moveHistory(t *testing.T, text string) []history.Operation {
	ops := keyHistory(t, text)
	for i := range ops {
		op := &ops[i]
		code, refused := strings.CutPrefix(op.Result.Answer, "!")
		switch {
		case op.Call.Command[0] == value.Snapshot:
			op.Call.Func, op.Result.Answer = history.Ask, ""
			op.Result.Places = placesOf(t, code)
		case refused:
			op.Outcome, op.Error, op.Result.Answer = history.Fail, &history.Error{Code: code}, ""
		case op.Call.Func == history.Do:
			op.Call.IDs = true
		}
	}
	return ops
}

func placesOf(t *testing.T, text string) (places []history.Place) {
	for part := range strings.SplitSeq(text, " | ") {
		var p history.Place
		words := strings.Fields(part)
		fmt.Sscan(words[0], &p.Revision)
		for _, w := range words[1:] {
			var m history.Message
			if n, err := fmt.Sscanf(w, "%d:%s", &m.Seq, &m.Value); n != 2 {
				t.Fatalf("%q: %v", w, err)
			}
			p.Messages, p.Last = append(p.Messages, m), m.Seq
		}
		places = append(places, p)
	}
	if len(places) != len(value.MovedKeys) {
		t.Fatalf("%d places in %q", len(places), text)
	}
	return places
}

// words of the histories below: transactions, their answers, and how the histories begin.
var words = strings.NewReplacer(
	"put!", `TURN.TX ID t1 STEP TURN.APPEND @0 a b → {duplicate 0 steps [{count 2 first_seq 1 last_seq 2}]}`,
	"put again!", `TURN.TX ID t1 STEP TURN.APPEND @0 a b → {duplicate 1 steps [{count 2 first_seq 1 last_seq 2}]}`,
	"put", `TURN.TX ID t1 STEP TURN.APPEND @0 a b`,
	"move!", `TURN.TX ID t2 IF @0 REVISION 5 STEP TURN.POP @0 1 HEAD STEP TURN.APPEND @1 a → `+
		`{duplicate 0 steps [{count 1 messages [[1 "a"]]} {count 1 first_seq 1 last_seq 1}]}`,
	"move again!", `TURN.TX ID t2 IF @0 REVISION 5 STEP TURN.POP @0 1 HEAD STEP TURN.APPEND @1 a → `+
		`{duplicate 1 steps [{count 1 messages [[1 "a"]]} {count 1 first_seq 1 last_seq 1}]}`,
	"move", `TURN.TX ID t2 IF @0 REVISION 5 STEP TURN.POP @0 1 HEAD STEP TURN.APPEND @1 a`,
	"edit!", `TURN.TX ID t3 IF @0 REVISION 5 STEP TURN.EDIT @0 2 b#1 → {duplicate 0 steps [{count 2}]}`,
	"edit", `TURN.TX ID t3 IF @0 REVISION 5 STEP TURN.EDIT @0 2 b#1`,
	"shows", `SNAPSHOT →`,
)

func TestMovesAreJudged(t *testing.T) {
	const two = "0-1 put!; 2-3 shows 5 1:a 2:b | 0 | 0; "
	for _, c := range []struct{ name, text, rule, names string }{
		{"moved", two + "4-5 move!; 8-9 shows 6 2:b | 7 1:a | 0", "", ""},
		{"moved, sent again", two + "4-5 move; 6-7 move again!; 8-9 shows 6 2:b | 7 1:a | 0", "", ""},
		{"an unknown move took place", two + "4-5 move; 8-9 shows 6 2:b | 7 1:a | 0", "", ""},
		{"an unknown move did not", two + "4-5 move; 8-9 shows 5 1:a 2:b | 0 | 0", "", ""},
		{"one of two", two + "4-6 move!; 5-7 edit → !CONFLICT; 8-9 shows 6 2:b | 7 1:a | 0", "", ""},
		{"put, and answered as a retry", "0-1 put; 2-3 put again!; 8-9 shows 5 1:a 2:b | 0 | 0", "", ""},

		{"both on one condition", two + "4-6 move!; 5-7 edit!; 8-9 shows 6 2:b#1 | 7 1:a | 0", "not linearizable", ""},
		{"half a move", two + "4-5 move!; 8-9 shows 6 2:b | 0 | 0", "lost item", "a is in none"},
		{"half an unknown move", two + "4-5 move; 8-9 shows 6 2:b | 0 | 0", "lost item", "a is in none"},
		{"the other half", two + "4-5 move!; 8-9 shows 6 1:a 2:b | 7 1:a | 0", "doubled item",
			"a is in @0 at seq 1 and in @1 at seq 1"},
		{"put twice", "0-1 put; 2-3 put!; 8-9 shows 6 1:a 2:b 3:a 4:b | 0 | 0", "doubled item", "is in @0 at seq"},
		{"a retry without a first", "2-3 put again!; 8-9 shows 5 1:a 2:b | 0 | 0", "not linearizable", ""},
		{"answered, and not there", "0-1 put!; 8-9 shows 5 2:b | 0 | 0", "lost item", "a is in none"},
		{"refused, and there", "0-1 put → !CONFLICT; 8-9 shows 5 1:a 2:b | 0 | 0", "refused item", "is in @0"},
		{"no transaction brought it", two + "8-9 shows 6 1:a 2:b 3:x | 0 | 0", "foreign item", "x is in @0 at seq 3"},
		{"an edit is lost", two + "4-5 edit!; 8-9 shows 6 1:a 2:b | 0 | 0", "lost edit", "b is at version 0"},
		{"a conflict without a reason", two + "4-5 move → !CONFLICT; 8-9 shows 5 1:a 2:b | 0 | 0", "not linearizable",
			""},
		{"a conflict that took place", two + "4-5 move → !CONFLICT; 8-9 shows 6 2:b | 7 1:a | 0", "not linearizable",
			""},
		{"a change without a reason", two + "4-5 move!; 6-7 shows 6 2:b | 7 1:a | 0; 8-9 shows 8 2:b | 7 1:a | 0",
			"not linearizable", ""},
		{"the past", two + "4-5 move!; 8-9 shows 5 1:a 2:b | 0 | 0", "not linearizable", ""},
	} {
		v := Check(moveHistory(t, words.Replace(c.text)), Options{SearchTimeout: 10 * time.Second})
		if len(v.Undecided) > 0 || v.Passed() != (c.rule == "") {
			t.Errorf("%s: %v, %v", c.name, v.Violations, v.Undecided)
		} else if c.rule != "" && (v.Violations[0].Rule != c.rule || !strings.Contains(v.Violations[0].Text, c.names)) {
			t.Errorf("%s: %v, want %s: %s", c.name, v.Violations[0], c.rule, c.names)
		}
	}
}
