package turn

import (
	"slices"
	"testing"
)

// What is wrong is told, the worst first, and the status is that of the worst.
func TestHealth(t *testing.T) {
	node := func(id string, problems ...string) Node {
		n := Node{ID: id, Voter: true, Reachable: true, Time: 100_000, Problems: problems}
		if id == "n1" {
			n.Applied = 7
		}
		return n
	}
	gone := func(id string) Node { return Node{ID: id, Voter: true} }
	late := node("n3")
	late.Time -= LongLag.Milliseconds()
	idle := late
	idle.Match = 7
	soon := node("n3")
	soon.Time -= LongLag.Milliseconds() - 1
	served := func(nodes ...Node) Cluster { return Cluster{Leader: "n1", Serving: true, Nodes: nodes} }
	with := func(c Cluster, change func(*Cluster)) Cluster { change(&c); return c }
	all := served(node("n1"), node("n2"), node("n3"))
	for name, test := range map[string]struct {
		cluster Cluster
		status  HealthStatus
		reasons []string
	}{
		"all are well": {all, Healthy, nil},
		"one of three is gone": {served(node("n1"), node("n2"), gone("n3")), Degraded,
			[]string{"1 of 3 voters cannot be reached: n3; if one more fails, there is no majority"}},
		"one of five is gone": {served(node("n1"), node("n2"), node("n3"), node("n4"), gone("n5")), Degraded,
			[]string{"1 of 5 voters cannot be reached: n5"}},
		"a learner is gone": {served(node("n1"), Node{ID: "n4"}), Degraded, []string{"n4 cannot be reached"}},
		"a node has a problem": {served(node("n1"), node("n2", "its disk is full"), node("n3")), Degraded,
			[]string{"n2: its disk is full"}},
		"a node is behind": {served(node("n1"), node("n2"), late), Degraded,
			[]string{"n3 is 10s behind the leader"}},
		"the first write after an idle time": {served(node("n1"), node("n2"), idle), Healthy, nil},
		"a node is a little behind":          {served(node("n1"), node("n2"), soon), Healthy, nil},
		"no room": {with(all, func(c *Cluster) { c.ReadOnly = "n2, n3 are full" }), ReadOnlyNow,
			[]string{"writes that need space are rejected: n2, n3 are full"}},
		"no leader, and no majority": {with(served(node("n1"), gone("n2"), gone("n3")), func(c *Cluster) {
			c.Leader, c.Serving = "", false
		}), NotServing,
			[]string{"there is no leader", "2 of 3 voters cannot be reached: n2, n3; a majority is needed"}},
		"a leader that is cut off": {with(all, func(c *Cluster) { c.Serving, c.ReadOnly = false, "full" }), NotServing,
			[]string{"no majority confirms that n1 leads", "writes that need space are rejected: full"}},
	} {
		h := test.cluster.Health()
		if h.Status != test.status || !slices.Equal(h.Reasons, test.reasons) {
			t.Errorf("%s: %s, %q; want %s, %q", name, h.Status, h.Reasons, test.status, test.reasons)
		}
	}
}
