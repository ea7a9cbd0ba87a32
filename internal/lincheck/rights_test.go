package lincheck

import (
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// The visitor loses rights at 10 to 20 ms and gets them back at 50 to 60 ms.
func TestRightsAreJudged(t *testing.T) {
	const final = "\n 90-91 final -> last=1 1:a"
	for name, c := range map[string]struct {
		reads bool
		text  string
		rule  string // "": good
	}{
		"nothing at all":           {false, "0-1 append a -> 1" + final, ""},
		"before":                   {false, "0-9 append a as=visitor -> 1" + final, ""},
		"while it is lost":         {false, "15-40 append a as=visitor -> 1" + final, ""},
		"when it is lost":          {false, "21-40 append a as=visitor -> 1" + final, "without the right"},
		"by somebody else":         {false, "21-40 append a as=member -> 1" + final, ""},
		"when it may be back":      {false, "21-51 append a as=visitor -> 1" + final, ""},
		"unknown, and there later": {false, "21-40 append a as=visitor -> ?" + final, ""},
		"unknown, and there": {false, "21-40 append a as=visitor -> ?\n 45-49 read -> last=1 1:a" + final,
			"without the right"},
		"sent again": {false,
			"5-6 append a ids as=visitor -> ?\n 21-40 append a ids as=visitor -> fail FORBIDDEN\n 45-49 read -> " +
				"last=1 1:a" + final, ""},
		"reads are not lost": {false, "0-1 append a -> 1\n 21-40 read as=visitor -> last=1 1:a" + final, ""},
		"reads are": {true, "0-1 append a -> 1\n 21-40 read as=visitor -> last=1 1:a" + final,
			"without the right"},
		"a tail of what was sent": {true, "0-1 append a -> 1\n 21-40 tail as=visitor -> 1:a" + final, ""},
		"a tail goes on": {true, "21-22 append a -> 1\n 0-40 tail as=visitor -> 1:a" + final,
			"without the right"},
		"refused": {false,
			"12-13 append b as=visitor -> fail FORBIDDEN\n 55-70 append c as=visitor -> fail UNAUTHORIZED\n 80-81 " +
				"append a -> 1" + final, ""},
		"refused to somebody else": {false, "12-13 append b as=member -> fail FORBIDDEN\n 80-81 append a -> 1" +
			final, "refusal"},
		"refused too early": {false, "8-9 append b as=visitor -> fail FORBIDDEN\n 80-81 append a -> 1" +
			final, "refusal"},
		"refused for too long": {false, "61-62 append b as=visitor -> fail FORBIDDEN\n 80-81 append a -> 1" +
			final, "refusal"},
		"one of too many who guess": {true, "31-32 append b as=visitor -> fail OVERLOADED\n 80-81 append a -> 1" +
			final, ""},
		"a user is not one who guess": {false, "31-32 append b as=visitor -> fail OVERLOADED\n 80-81 append a -> 1" +
			final, "refusal"},
	} {
		loss := history.RightsLoss{User: "visitor", Reads: c.reads, Going: 10e6, Gone: 20e6, Coming: 50e6, Back: 60e6}
		v := Check(script(t, c.text),
			Options{SearchTimeout: time.Second, Refusals: []Refusal{}, Rights: []history.RightsLoss{loss}})
		switch {
		case c.rule == "" && !v.Passed():
			t.Errorf("%s: %v, %v", name, v.Violations, v.Undecided)
		case c.rule != "" && (len(v.Violations) == 0 || v.Violations[0].Rule != c.rule):
			t.Errorf("%s: want %q, got %v", name, c.rule, v.Violations)
		}
	}
}
