package target

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/testcluster"
)

const (
	readyTime = time.Minute      // for the cluster to serve
	stopTime  = 15 * time.Second // for a node to end by itself
)

// nodes is a cluster that belongs to the suite, with its data in a directory that goes
// away with it.
type nodes struct {
	mu  sync.Mutex // held by whatever happens to the nodes
	dir string
	*testcluster.Cluster
}

var errNoBinary = errors.New("turnlog: without an address needs the turnlog program")

// clusterSettings are what a turnlog: URL says about the cluster.
type clusterSettings struct {
	nodes      int
	namespace  string
	through    string        // the node that all handles go through; empty: they take turns
	killLeader time.Duration // how often the leader is killed meanwhile; 0: never
}

func readClusterSettings(u *url.URL) (s clusterSettings, err error) {
	params, err := take(u, "nodes", "namespace", "through", "kill-leader")
	if err != nil {
		return s, err
	}
	s = clusterSettings{nodes: 3, namespace: params["namespace"], through: params["through"]}
	if n := params["nodes"]; n != "" {
		if s.nodes, err = strconv.Atoi(n); err != nil || s.nodes != 1 && s.nodes != 3 && s.nodes != 5 {
			return s, urlErrorf("target turnlog: nodes must be 1, 3 or 5")
		}
	}
	if d := params["kill-leader"]; d != "" {
		if s.killLeader, err = time.ParseDuration(d); err != nil || s.killLeader <= 0 {
			return s, urlErrorf("target turnlog: kill-leader must be a time such as 3s")
		}
	}
	if t := s.through; t != "" && (t[0] != 'n' || len(t) != 2 || t[1] < '1' || int(t[1]-'0') > s.nodes) {
		return s, urlErrorf("target turnlog: through must be n1 to n%d", s.nodes)
	}
	return s, nil
}

// openNodes starts a cluster.
func openNodes(ctx context.Context, u *url.URL, o Options) (*Target, error) {
	s, err := readClusterSettings(u)
	if err != nil {
		return nil, err
	}
	if o.Binary == "" {
		return nil, errNoBinary
	}
	dir, err := os.MkdirTemp("", "turnlog-verify-")
	if err != nil {
		return nil, err
	}
	c := &nodes{dir: dir}
	c.Cluster, err = testcluster.New(testcluster.Config{Binary: o.Binary, Dir: dir, Nodes: s.nodes})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.startAgain(ctx, c.Nodes...); err != nil {
		return nil, errors.Join(err, c.close())
	}
	addrs := c.addrs(s.through)
	t := &Target{close: c.close}
	dialTurnlog(t, addrs, s.namespace)
	t.Restarts = c.restarts()
	if o.Copy != nil {
		t.Copy = func(ctx context.Context) *exec.Cmd {
			return o.Copy(ctx, "turnlog://"+strings.Join(addrs, ",")+"?namespace="+s.namespace)
		}
	}
	if s.killLeader > 0 {
		k := c.startKilling(s.killLeader)
		t.close = func() error { return errors.Join(k.end(), c.close()) }
		t.Note = k.note
	}
	return t, nil
}

func (c *nodes) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Close()
	return os.RemoveAll(c.dir)
}

// addrs returns where the nodes, or the one of that name, serve clients. A node that
// is replaced leaves its address to the next one.
func (c *nodes) addrs(only string) []string {
	var out []string
	for _, n := range c.Nodes {
		if only == "" || n.ID == only {
			out = append(out, n.RESPAddr)
		}
	}
	return out
}
