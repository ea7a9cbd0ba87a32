package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/internal/admintoken"
	"github.com/turnlog/turnlog/internal/ports"
)

const (
	readyTime = 30 * time.Second // for a node, or the cluster, to serve
	stopTime  = 15 * time.Second // for a node to end by itself
)

// nodes is a cluster that belongs to the suite: processes of the turnlog program,
// with their data in a directory that goes away with them.
type nodes struct {
	binary string
	dir    string
	seed   string // --initial-cluster
	ports  ports.Reserved

	mu    sync.Mutex
	live  []*node
	count int // nodes that there ever were, for their names
}

// node is one process, in its present life.
type node struct {
	id               string
	resp, http, raft string
	data             string // its directory
	args             []string
	cmd              *exec.Cmd
	exited           chan struct{} // closed when cmd has ended
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
	c := &nodes{binary: o.Binary, dir: dir}
	if err := c.found(ctx, s.nodes); err != nil {
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

// found starts the first nodes and waits until they serve.
func (c *nodes) found(ctx context.Context, count int) error {
	var peers []string
	for range count {
		n, err := c.newNode()
		if err != nil {
			return err
		}
		peers = append(peers, n.id+"="+n.raft)
		c.live = append(c.live, n)
	}
	c.seed = strings.Join(peers, ",")
	for _, n := range c.live {
		n.args = append(n.args, "--initial-cluster", c.seed)
		if err := c.start(n); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

func (c *nodes) newNode() (*node, error) {
	c.count++
	n := &node{id: fmt.Sprintf("n%d", c.count)}
	free, err := c.ports.Addrs(3)
	if err != nil {
		return nil, err
	}
	n.resp, n.http, n.raft = free[0], free[1], free[2]
	n.data = filepath.Join(c.dir, n.id)
	n.args = []string{"serve", "--node-id", n.id, "--data-dir", n.data,
		"--resp-addr", n.resp, "--http-addr", n.http, "--raft-addr", n.raft}
	return n, nil
}

func (c *nodes) start(n *node) error {
	log, err := os.OpenFile(filepath.Join(c.dir, n.id+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	n.cmd = exec.Command(c.binary, n.args...)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.SysProcAttr = childAttributes()
	if err := n.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	n.exited = exited
	go func() {
		n.cmd.Wait() // how it ended stands in its log
		close(exited)
	}()
	return nil
}

// end sends a signal and waits until the process is gone.
func (n *node) end(s syscall.Signal) {
	n.cmd.Process.Signal(s)
	select {
	case <-n.exited:
	case <-time.After(stopTime):
		n.cmd.Process.Kill()
		<-n.exited
	}
}

func (c *nodes) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.live {
		if n.cmd != nil {
			n.end(syscall.SIGKILL)
		}
	}
	c.ports.Release()
	return os.RemoveAll(c.dir)
}

// addrs returns where the nodes, or the one of that name, serve clients. A node that
// is replaced leaves its address to the next one.
func (c *nodes) addrs(only string) []string {
	var out []string
	for _, n := range c.live {
		if only == "" || n.id == only {
			out = append(out, n.resp)
		}
	}
	return out
}

// ready waits until every node serves.
func (c *nodes) ready(ctx context.Context) error {
	for _, n := range c.live {
		if err := c.until(ctx, n.id+" to be ready", func() bool {
			return n.request(ctx, http.MethodGet, "/readyz", nil, nil) == nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// until polls.
func (c *nodes) until(ctx context.Context, what string, done func() bool) error {
	for end := time.Now().Add(readyTime); !done(); {
		if time.Now().After(end) {
			return fmt.Errorf("waited %s for %s; %s", readyTime, what, c.lastWords())
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// lastWords returns the end of each log.
func (c *nodes) lastWords() string {
	var b strings.Builder
	for _, n := range c.live {
		text, err := os.ReadFile(filepath.Join(c.dir, n.id+".log"))
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "log of %s ends with:\n%s\n", n.id, strings.Join(lines[max(0, len(lines)-5):], "\n"))
	}
	return b.String()
}

// request asks the node's HTTP API.
func (n *node) request(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	admintoken.Authorize(r, n.data)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s of %s: %s", method, path, n.id, bytes.TrimSpace(text))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
