package admin

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
	"github.com/turnlog/turnlog/turn"
)

// viewTime bounds the wait for one node's view of the cluster: it asks the others for half a second.
const viewTime = 3 * time.Second

// view is the cluster as one node sees it.
type view struct {
	addr    string
	cluster turn.Cluster
	err     error
}

// bestView asks every node that the command line names how the cluster is: a node that is cut off from
// the others sees no leader, which says nothing of the rest. If none sees a serving leader, the
// nodes that they know are asked, too.
func bestView(a *cli.App) (turn.Cluster, error) {
	addrs := cli.SplitAddrs(a.Addr)
	if len(addrs) == 0 {
		return turn.Cluster{}, cli.Usagef("--addr is empty: name at least one node")
	}
	views := askAll(a, addrs)
	if err := oneCluster(views); err != nil {
		return turn.Cluster{}, err
	}
	best := slices.MaxFunc(views, compareViews)
	if best.cluster.Serving {
		return best.cluster, nil
	}
	var others []string
	for _, v := range views {
		for _, n := range v.cluster.Nodes {
			if n.RESPAddr != "" && !slices.Contains(addrs, n.RESPAddr) && !slices.Contains(others, n.RESPAddr) {
				others = append(others, n.RESPAddr)
			}
		}
	}
	best = bestOf(best, askAll(a, others))
	return best.cluster, best.err
}

// oneCluster is an error if nodes are of several clusters: no view would be one of all.
func oneCluster(views []view) error {
	var first view
	for _, v := range views {
		switch {
		case v.err != nil || v.cluster.ID == "": // an empty node is of none
		case first.cluster.ID == "":
			first = v
		case v.cluster.ID != first.cluster.ID:
			return cli.Usagef("--addr names nodes of several clusters: %s is of %s, %s of %s",
				first.addr, first.cluster.ID, v.addr, v.cluster.ID)
		}
	}
	return nil
}

// bestOf returns the view that tells most, of those that are of the same cluster as one: the address of a member
// may be that of another cluster's node meanwhile.
func bestOf(best view, others []view) view {
	for _, v := range others {
		if (v.err != nil || v.cluster.ID == best.cluster.ID || best.cluster.ID == "") && compareViews(v, best) > 0 {
			best = v
		}
	}
	return best
}

// compareViews orders views by how much they tell: a node that answers that the password is wrong tells more than
// one that does not answer.
func compareViews(x, y view) int {
	rank := func(v view) int {
		switch {
		case turn.Is(v.err, turn.Unauthorized), turn.Is(v.err, turn.Forbidden):
			return -1
		case v.err != nil:
			return -2
		case v.cluster.Serving:
			return 1 << 20
		}
		return v.reachable()
	}
	return cmp.Compare(rank(x), rank(y))
}

func (v view) reachable() (n int) {
	for i := range v.cluster.Nodes {
		if v.cluster.Nodes[i].Reachable {
			n++
		}
	}
	return n
}

func askAll(a *cli.App, addrs []string) []view {
	views := make([]view, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() {
			views[i].addr = addr
			views[i].cluster, views[i].err = viewOf(a, addr)
		})
	}
	wg.Wait()
	return views
}

func viewOf(a *cli.App, addr string) (cl turn.Cluster, err error) {
	one := *a
	one.Addr, one.Stderr = addr, io.Discard // that attempts fail is what is asked for here
	if !a.TimeoutGiven() {
		one.Timeout = viewTime
	}
	err = one.WithClient(func(ctx context.Context, c *client.Client) error {
		ctx, cancel := context.WithTimeout(ctx, one.Timeout)
		defer cancel()
		cl, err = c.Cluster(ctx)
		return err
	})
	return cl, err
}
