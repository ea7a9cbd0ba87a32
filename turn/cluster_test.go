package turn

import (
	"slices"
	"testing"
)

// The level of a cluster waits for each member that others are beyond, and for none
// once it is where they are.
func TestLevelWaitsFor(t *testing.T) {
	held := ClusterLevel(1)
	node := func(id string, level ClusterLevel) Node { return Node{ID: id, Reachable: true, Level: level} }
	all := []Node{node("n1", 2), {ID: "n2"}, node("n3", 1), {ID: "n4", Reachable: true, Level: 2, HoldLevel: &held}}
	for _, test := range []struct {
		cluster Cluster
		want    []string
	}{
		{Cluster{Level: 1, Nodes: all},
			[]string{"n2 cannot be reached", "n3 runs a version that knows levels up to 1",
				"n4 holds it at level 1 (hold-level)"}},
		{Cluster{Level: 2, Nodes: all}, nil},
		{Cluster{Level: 0, Nodes: []Node{node("n1", 0), node("n2", 0)}}, nil},
		{Cluster{Level: 1, Nodes: []Node{node("n1", 2), node("n2", 2)}}, nil}, // about to rise
	} {
		if got := test.cluster.LevelWaitsFor(); !slices.Equal(got, test.want) {
			t.Errorf("at level %d: %q, want %q", test.cluster.Level, got, test.want)
		}
	}
}
