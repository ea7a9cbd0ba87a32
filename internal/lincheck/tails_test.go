package lincheck

import "testing"

// TestTailsOverDeletesAreJudged: a session is deleted and begins again while it is followed.
func TestTailsOverDeletesAreJudged(t *testing.T) {
	const session = `
		0-1 append a,b -> 1-2 rev=3
		2-3 read -> last=2 rev=3 inc=1 1:a 2:b
		4-5 delete -> removed=1
		6-7 append c,d -> 1-2 rev=6
		20-21 final -> last=2 rev=6 inc=2 1:c 2:d
		`
	for name, c := range map[string]struct{ rule, text string }{
		"both": {"",
			"0-3 tail on=1 -> 1:a\n 3-4 tail on=1 seq=1 -> 2:b\n 4-8 tail on=1 seq=2 -> 1:c\n 8-9 tail on=1 " +
				"seq=1 -> 2:d"},
		"the second only":            {"", "0-8 tail on=1 seq=2 -> 1:c\n 8-9 tail on=1 seq=1 -> 2:d"},
		"the end of the second only": {"", "7-8 tail on=1 seq=1 -> 2:d"},
		"the second from its middle": {"tail skips", "0-3 tail on=1 -> 1:a\n 3-8 tail on=1 seq=1 -> 2:d"},
		"back to the first":          {"tail repeats", "0-8 tail on=1 -> 1:c\n 8-9 tail on=1 seq=1 -> 2:b"},
		"the same again":             {"tail repeats", "0-8 tail on=1 -> 1:c\n 8-9 tail on=1 seq=1 -> 1:c"},
		"another subscriber":         {"", "0-8 tail on=1 -> 1:c\n 8-9 tail on=2 -> 1:c"},
		"at another seq":             {"two values", "0-8 tail on=1 seq=1 -> 1:d"},
	} {
		v := judge(t, session+c.text)
		switch {
		case c.rule == "" && !v.Passed():
			t.Errorf("%s: %v %v", name, v.Violations, v.Undecided)
		case c.rule != "" && (len(v.Violations) == 0 || v.Violations[0].Rule != c.rule):
			t.Errorf("%s: want %q first, got %v", name, c.rule, v.Violations)
		}
	}
}
