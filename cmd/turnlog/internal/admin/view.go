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
		return turn.Cluster{}, cli.Usagef("--addr names no node")
	}
	views := askAll(a, addrs)
	if best := slices.MaxFunc(views, compareViews); best.cluster.Serving {
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
	best := slices.MaxFunc(append(views, askAll(a, others)...), compareViews)
	return best.cluster, best.err
}

// compareViews orders views by how much they tell.
func compareViews(x, y view) int {
	rank := func(v view) int {
		switch {
		case v.err != nil:
			return -1
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
