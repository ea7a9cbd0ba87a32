package admin

import (
	"cmp"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func seen(addr, cluster string, serving bool, reachable int) view {
	v := view{addr: addr, cluster: turn.Cluster{ID: cluster, Serving: serving}}
	for range reachable {
		v.cluster.Nodes = append(v.cluster.Nodes, turn.Node{Reachable: true})
	}
	return v
}

func failed(addr string, kind turn.Kind) view {
	return view{addr: addr, err: turn.Errorf(kind, "%s", addr)}
}

// What tells most is shown: of errors, that the password is wrong.
func TestBestView(t *testing.T) {
	ascending := []view{failed("gone", turn.Unavailable), failed("refuses", turn.Unauthorized),
		seen("alone", "a", false, 1), seen("two", "a", false, 2), seen("serves", "a", true, 1)}
	for i := range ascending {
		for j := range ascending {
			if got := compareViews(ascending[i], ascending[j]); got != cmp.Compare(i, j) {
				t.Errorf("%s against %s: %d", ascending[i].addr, ascending[j].addr, got)
			}
		}
	}
}

// Views of two clusters are not mixed.
func TestViewsOfTwoClusters(t *testing.T) {
	a, b, blank := seen("1", "a", false, 1), seen("2", "b", true, 3), seen("3", "", false, 0)
	if err := oneCluster([]view{a, blank, failed("4", turn.Unavailable), a}); err != nil {
		t.Errorf("one cluster: %v", err)
	}
	if err := oneCluster([]view{blank, a, b}); err == nil {
		t.Error("nodes of two clusters are taken for one")
	}
	if got := bestOf(a, []view{b, failed("4", turn.Unauthorized)}); got.addr != "1" {
		t.Errorf("the view of another cluster's node is taken: %+v", got)
	}
	if got := bestOf(a, []view{seen("5", "a", true, 2)}); got.addr != "5" {
		t.Errorf("the best view of the cluster is not taken: %+v", got)
	}
}
