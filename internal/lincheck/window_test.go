package lincheck

import (
	"fmt"
	"strings"
	"testing"
)

// TestWindowIsJudged: an append is repeated after so many messages have followed it.
func TestWindowIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		between int
		again   string // its answer
		kept    bool   // it is there a second time
		rule    string
	}{
		"recognised":                  {1023, "1 rev=1 dup", false, ""},
		"forgotten too early":         {1023, "1025 rev=9", true, "doubled"},
		"forgotten in time":           {1024, "1026 rev=9", true, ""},
		"no answer, and there":        {1024, "?", true, ""},
		"no answer, and not there":    {1024, "?", false, ""},
		"no answer, there too early":  {1023, "?", true, "doubled"},
		"told that it was the second": {1024, "1 rev=1 dup", true, "false duplicate"},
	} {
		var values, seen []string
		for i := range c.between {
			values = append(values, fmt.Sprint("v", i))
		}
		for i, v := range append([]string{"a"}, values...) {
			seen = append(seen, fmt.Sprintf("%d:%s", i+1, v))
		}
		last := 1 + c.between
		text := fmt.Sprintf("0-1 append a ids -> 1 rev=1\n 2-3 append %s -> 2-%d rev=2\n 4-5 append a ids again "+
			"-> %s\n", strings.Join(values, ","), last, c.again)
		if c.kept {
			last++
			seen = append(seen, fmt.Sprintf("%d:a", last))
		}
		text += fmt.Sprintf("6-7 final -> last=%d rev=9 %s", last, strings.Join(seen, " "))
		if !c.kept {
			text = strings.ReplaceAll(text, "rev=9", "rev=2")
		}
		v := judge(t, text)
		switch {
		case c.rule == "" && !v.Passed():
			t.Errorf("%s: %v %v", name, v.Violations, v.Undecided)
		case c.rule != "" && (len(v.Violations) == 0 || !strings.Contains(v.Violations[0].Rule, c.rule) &&
			c.rule != "false duplicate"):
			t.Errorf("%s: want %q first, got %.500s", name, c.rule, fmt.Sprint(v.Violations))
		}
	}
}
