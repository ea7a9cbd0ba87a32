package lincheck

import "testing"

// selected is a history of a session in which calls and results of tools stand apart, with one read more.
func selected(t *testing.T, read string) *Verdict {
	t.Helper()
	return judge(t, `
		0-1 append a,t!call,t!result -> 1-3
		1-2 append b -> 4
		2-3 append u!call -> 5
		3-4 append u!result -> 6
		5-6 read `+read+`
		9-10 final timed -> last=6 1:a@10 2:t!call@10 3:t!result@10 4:b@20 5:u!call@30 6:u!result@40`)
}

// Reads by time, and reads that are whole, show what they should of the session as it was.
func TestSelectedReads(t *testing.T) {
	for _, read := range []string{
		"since=20 until=40 latest -> last=6 4:b@20 5:u!call@30",
		"since=10 until=20 seq=1 -> last=6 2:t!call@10 3:t!result@10",
		"since=10 until=30 n=1 latest -> last=6 more 4:b@20",
		"since=40 latest -> last=6 6:u!result@40",
		"since=41 -> last=6",
		"since=20 seq=6 -> last=6",
		"stale since=20 -> last=4 4:b@20",
		"until=10 -> last=6",
		"until=31 n=2 whole latest -> last=6 more 4:b@20 5:u!call@30",
		"since=30 n=1 whole latest -> last=6 5:u!call@30 6:u!result@40",
		"since=40 n=1 whole latest -> last=6 6:u!result@40",
		"n=4 whole latest -> last=6 more 4:b 5:u!call 6:u!result",
		"n=1 whole latest -> last=6 more 5:u!call 6:u!result",
		"stale n=1 whole latest -> last=5 more 5:u!call", // as the session was then
		"n=2 whole -> last=6 more 1:a",
		"n=1 seq=1 whole -> last=6 more 2:t!call 3:t!result",
		"whole -> last=6 1:a 2:t!call 3:t!result 4:b 5:u!call 6:u!result",
	} {
		if v := selected(t, read); !v.Passed() {
			t.Errorf("%s: %v %v", read, v.Violations, v.Undecided)
		}
	}
	for read, rule := range map[string]string{
		"since=20 until=40 -> last=6 3:t!result@10 4:b@20 5:u!call@30":       "selection",
		"since=20 until=40 -> last=6 5:u!call@30":                            "selection",
		"until=20 -> last=6 1:a@10 2:t!call@10 3:t!result@10 4:b@20":         "selection",
		"until=20 -> last=6 more 1:a@10 2:t!call@10 3:t!result@10":           "selection",
		"since=20 until=40 n=1 latest -> last=6 4:b@20":                      "selection",
		"since=20 until=40 n=1 latest -> last=6 more 4:b@20":                 "gap",
		"n=4 whole latest -> last=6 more 3:t!result 4:b 5:u!call 6:u!result": "selection",
		"n=1 whole latest -> last=6 more 6:u!result":                         "selection",
		"n=2 whole -> last=6 more 1:a 2:t!call":                              "selection",
		"n=3 whole latest -> last=6 4:b 5:u!call 6:u!result":                 "selection",
		"since=20 until=40 -> last=6 4:b@21 5:u!call@30":                     "time",
		"since=20 until=40 -> last=6 4:b 5:u!call@30":                        "time",
		"n=4 whole latest -> last=4 1:a 2:t!call 3:t!result 4:b":             "real time",
		"n=3 whole latest -> last=3 1:a 2:t!call 3:t!result":                 "real time",
		"since=40 -> last=5":                                                   "real time",
		"since=10 until=20 -> last=2 1:a@10 2:t!call@10":                       "torn turn",
		"since=10 until=20 -> last=7 1:a@10 2:t!call@10 3:t!result@10":         "lost",
		"since=10 until=20 -> last=6 count=5 1:a@10 2:t!call@10 3:t!result@10": "count",
	} {
		if v := selected(t, read); len(v.Violations) == 0 || v.Violations[0].Rule != rule {
			t.Errorf("%s: %v %v, want %s", read, v.Violations, v.Undecided, rule)
		}
	}
	for text, rule := range map[string]string{
		"0-1 append a -> 1\n 1-2 append b -> 2\n 9-10 final timed -> last=2 1:a@20 2:b@19":        "time",
		"0-1 append a -> 1\n 5-6 final timed -> last=1 1:a@20\n 5-6 final timed -> last=1 1:a@21": "nodes differ",
	} {
		if v := judge(t, text); len(v.Violations) == 0 || v.Violations[0].Rule != rule {
			t.Errorf("%s: %v %v, want %s", text, v.Violations, v.Undecided, rule)
		}
	}
	if v := judge(t,
		"0-1 append a -> 1\n 2-3 read until=20 -> last=1\n 5-6 final -> last=1 1:a"); len(v.Undecided) == 0 {
		t.Errorf("times that no answer tells are decided: %v", v.Violations)
	}
}
