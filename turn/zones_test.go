package turn_test

import (
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestZoneRisks(t *testing.T) {
	for zones, want := range map[string]string{ // of the voters; a learner is in c
		"a":         "",
		"a b c":     "",
		"a a b":     "2 of 3 voters are in zone a (n1, n2)",
		"a a a":     "3 of 3 voters are in zone a (n1, n2, n3)",
		"a - -":     "",
		"- - -":     "",
		"a a -":     "2 of 3 voters are in zone a (n1, n2)",
		"a b":       "1 of 2 voters are in zone a (n1)|1 of 2 voters are in zone b (n2)",
		"a a b b":   "2 of 4 voters are in zone a (n1, n2)|2 of 4 voters are in zone b (n3, n4)",
		"a a b b c": "",
		"a a a b c": "3 of 5 voters are in zone a (n1, n2, n3)",
	} {
		c := turn.Cluster{Nodes: []turn.Node{{ID: "n9", Zone: "c"}}}
		for i, zone := range strings.Fields(zones) {
			c.Nodes = append(c.Nodes, turn.Node{ID: "n" + string(rune('1'+i)), Zone: strings.Trim(zone, "-"),
				Voter: true})
		}
		var got []string
		for _, risk := range c.ZoneRisks() {
			what, _, _ := strings.Cut(risk, ": without it")
			got = append(got, what)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", zones, got, want)
		}
	}
}
