package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// smallDisk is a disk of some MiB of its own, or the end of the test where the
// system does not let this user make one.
func smallDisk(t *testing.T, mib int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("NOT TESTED: what happens on full disks. This test mounts small disks, and may not: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp leaves so many KiB of a disk, and returns what gives the rest back.
func fillUp(t *testing.T, dir string, leave int64) (release func()) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "foreign")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(s.Bavail)*s.Bsize-leave<<10); err != nil {
		t.Fatal(err)
	}
	f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// post sends a request to a node's HTTP API and returns the status and the answer.
func (n *node) post(method, path, body string) (int, string) {
	n.shell.t.Helper()
	req, err := http.NewRequest(method, "http://"+n.http+path, strings.NewReader(body))
	if err != nil {
		n.shell.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		n.shell.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.shell.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// append1MiB appends a message of 1 MiB.
func (n *node) append1MiB(session string) (int, string) {
	n.shell.t.Helper()
	data, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"data": string(bytes.Repeat([]byte("x"),
		1<<20))}}})
	if err != nil {
		n.shell.t.Fatal(err)
	}
	return n.post("POST", "/v1/sessions/"+session+"/messages", string(data))
}

// fillDisk appends messages of 1 MiB to sessions, in turn, until that has been rejected for a while: it also is for a
// moment before a node has cut its log. It returns how many there are; more than most do not fit.
func fillDisk(t *testing.T, n *node, most int, sessions ...string) (appended int) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < 5*time.Second; {
		switch code, text := n.append1MiB(sessions[appended%len(sessions)]); {
		case code == http.StatusInsufficientStorage:
			<-tick.C
		case code != http.StatusOK || appended == most:
			t.Fatalf("append %d: %d %s", appended, code, text)
		default:
			appended++
			last = time.Now()
		}
	}
	return appended
}

// leadership returns which node leads, and in which term, as far as a node knows; empty: it does not run, or knows
// none.
func (n *node) leadership() (leader string, term uint64) {
	r := n.run("cluster", "status", "--json") // whose exit status is 1 while writes are rejected
	var now struct {
		Leader string
		Term   uint64
	}
	if json.Unmarshal([]byte(r.stdout), &now) != nil || now.Leader == "" {
		return "", 0
	}
	return now.Leader, now.Term
}

func (n *node) knowsLeader() bool { leader, _ := n.leadership(); return leader != "" }

// readiness returns whether a node says that it is ready, and what it says.
func (n *node) readiness() (bool, string) {
	code, text := n.post("GET", "/readyz", "")
	return code == http.StatusOK, text
}

// A disk that is full of sessions is emptied over the API, and the node takes
// writes again by itself.
func TestFullDiskIsEmptiedOverTheAPI(t *testing.T) {
	t.Parallel()
	n := startNode(t, smallDisk(t, 512), "--memory-budget", "128MiB")
	var names []string
	for i := range 512 {
		names = append(names, fmt.Sprint("s", i))
	}
	sessions := fillDisk(t, n, len(names), names...)
	t.Logf("full with %d MiB of sessions", sessions)
	if ok, why := n.readiness(); ok || !strings.Contains(why, "kept in reserve") {
		t.Errorf("ready: %v %s", ok, why)
	}
	n.fails(cli.ExitFailed, "Nothing was changed. Delete or trim", "append", "new", "x")
	if got := n.ok("read", "s0", "--raw"); len(got) < 1<<20 {
		t.Errorf("%d bytes are read", len(got))
	}
	n.ok("cluster", "checksum")
	for i := range sessions {
		if code, text := n.post("POST", fmt.Sprintf("/v1/sessions/s%d/clear", i), ""); code != http.StatusOK {
			t.Fatalf("clear s%d: %d %s", i, code, text)
		}
	}
	n.ok("rm", "--prefix", "", "--yes")
	n.until("writes are taken again", func() bool { code, _ := n.append1MiB("again"); return code == http.StatusOK })
	n.until("ready", func() bool { return isReady(n.http) })
}

// startNodes starts a cluster with a data directory for each node.
func startNodes(t *testing.T, dirs ...string) []*node {
	t.Helper()
	return startNodesWith(t, func(int) []string { return nil }, dirs...)
}

// startNodesWith is startNodes with more settings, of the first node on.
func startNodesWith(t *testing.T, settings func(i int) []string, dirs ...string) []*node {
	t.Helper()
	addrs := freePorts(t, 3*len(dirs))
	var cluster []string
	for i := range dirs {
		cluster = append(cluster, fmt.Sprintf("n%d=%s", i+1, addrs[3*i+2]))
	}
	var nodes []*node
	for i, dir := range dirs {
		a := addrs[3*i:]
		n := &node{http: a[1], shell: shell{t, a[0]}}
		n.args = []string{"serve", "--node-id", fmt.Sprint("n", i+1), "--data-dir", dir, "--initial-cluster",
			strings.Join(cluster, ","),
			"--resp-addr", a[0], "--http-addr", a[1], "--raft-addr", a[2], "--memory-budget", "128MiB"}
		n.args = append(n.args, settings(i)...)
		n.process = startProcess(t, nil, n.args...)
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		n.until("ready", func() bool { return isReady(n.http) })
	}
	return nodes
}

// Disks of a cluster that something else fills, to the last bytes: of two followers,
// then of the leader alone.
func TestFullDisksOfACluster(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, smallDisk(t, 320), smallDisk(t, 320), smallDisk(t, 320))
	leader, followers := byRole(nodes)
	leader.ok("append", "a", "1", "2", "3")
	var release []func()
	for _, f := range followers {
		release = append(release, fillUp(t, f.dataDir(), 512))
	}
	for _, n := range nodes {
		n.until("not ready", func() bool {
			ok, why := n.readiness()
			return !ok &&
				strings.Contains(why, "kept in reserve")
		})
		began := time.Now()
		n.fails(cli.ExitFailed, "kept in reserve", "append", "a", "x")
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("a write is rejected after %v", took)
		}
		n.ok("trim", "a", "--keep", "2")
		n.ok("read", "a")
	}
	for _, r := range release {
		r()
	}
	for _, n := range nodes {
		n.until("ready", func() bool { return isReady(n.http) })
		n.ok("append", "a", "x")
	}
	leader, _ = byRole(nodes)
	defer fillUp(t, leader.dataDir(), 512)()
	leader.until("another node leads", func() bool {
		r := leader.run("cluster", "status", "--json") // whose exit status is 1 while none leads
		var now struct{ Leader string }
		return json.Unmarshal([]byte(r.stdout), &now) == nil && now.Leader != "" && now.Leader != leader.args[2]
	})
	for _, n := range nodes {
		n.ok("append", "a", "y")
	}
	if out := leader.ok("cluster", "checksum"); !strings.HasPrefix(out, "3 of 3 nodes compared") {
		t.Error(out)
	}
}

func (n *node) dataDir() string { return n.args[4] }

func byRole(nodes []*node) (leader *node, followers []*node) {
	var id string
	nodes[0].until("a node leads", func() bool { id, _ = nodes[0].leadership(); return id != "" })
	for _, n := range nodes {
		if n.args[2] == id {
			leader = n
		} else {
			followers = append(followers, n)
		}
	}
	if leader == nil {
		nodes[0].shell.t.Fatalf("the leader %q is not one of the nodes", id)
	}
	return leader, followers
}
