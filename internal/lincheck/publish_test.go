package lincheck

import "testing"

// A subscription is the operations of one process: the first confirms it, each other one is a
// message that was received.
func TestChannelsAreJudged(t *testing.T) {
	const published = "0-1 listen on=1 -> count=1\n 10-20 publish a pipe=1 -> count=1\n 10-21 publish b pipe=2 -> " +
		"count=1\n"
	for name, c := range map[string]struct {
		rule, text string
		calm       bool
	}{
		"received in order":         {"", published + "1-12 listen on=1 -> 0:a\n 12-13 listen on=1 -> 0:b", true},
		"a fault, and one is lost":  {"", published + "1-12 listen on=1 -> 0:b\n 12-9000 listen on=1 -> ?", false},
		"the subscriber left early": {"", published + "1-12 listen on=1 -> 0:a\n 12-900 listen on=1 -> ?", true},
		"overtaken": {"published messages changed order",
			published + "1-12 listen on=1 -> 0:b\n 12-13 listen on=1 -> 0:a", false},
		"twice": {"received twice",
			published + "1-12 listen on=1 -> 0:a\n 12-13 listen on=1 -> 0:a", false},
		"each of two received it": {"",
			published + "0-1 listen on=2 -> count=1\n 1-12 listen on=1 -> 0:a\n 1-13 listen on=2 -> 0:a", false},
		"never published": {"foreign", published + "1-12 listen on=1 -> 0:c", false},
		"of another channel": {"foreign",
			published + "session 0/t\n 0-1 listen on=3 -> count=1\n 1-12 listen on=3 -> 0:a", false},
		"before it was published": {"real time", published + "1-8 listen on=1 -> 0:a", false},
		"refused and received": {"refused but there",
			"0-1 listen on=1 -> count=1\n 2-3 publish a -> fail FORBIDDEN\n 1-4 listen on=1 -> 0:a", false},
		"lost in a calm cluster": {"published and lost",
			published + "1-12 listen on=1 -> 0:b\n 12-9000 listen on=1 -> ?", true},
		"too many receivers": {"receivers",
			"0-1 listen on=1 -> count=1\n 2-3 publish a -> count=2\n 1-4 listen on=1 -> 0:a", true},
		"a receiver is not counted": {"receivers",
			"0-1 listen on=1 -> count=1\n 2-3 publish a -> count=0\n 1-4 listen on=1 -> 0:a", true},
		"an answer came too late": {"",
			"0-1 listen on=1 -> count=1\n 2-600 publish a -> count=0\n 1-700 listen on=1 -> 0:a", true},
		"perhaps not yet subscribed": {"",
			"0-5 listen on=1 -> count=1\n 2-3 publish a -> count=0\n 5-9000 listen on=1 -> ?", true},
	} {
		v := Check(script(t, c.text), Options{Calm: c.calm})
		switch {
		case c.rule == "" && !v.Passed():
			t.Errorf("%s: %v", name, v.Violations)
		case c.rule != "" && (len(v.Violations) == 0 || v.Violations[0].Rule != c.rule):
			t.Errorf("%s: want %q first, got %v", name, c.rule, v.Violations)
		}
	}
}
