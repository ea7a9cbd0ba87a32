package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cluster-test/disk"
)

// follow runs the commands of a page about trouble, from the first to the last, with these nodes in trouble, and
// returns what they print. Of the page's machines it runs on that of the first node.
func follow(t *testing.T, page string, nodes []*node) string {
	t.Helper()
	for _, tool := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the pages on trouble use " + tool)
		}
	}
	var addrs []string
	script := blocks(t, page)
	for i, n := range nodes {
		addrs = append(addrs, n.addr)
		script = strings.ReplaceAll(script, fmt.Sprintf("10.0.0.%d:7380", i+1), n.http)
	}
	script = strings.ReplaceAll(script, "/var/lib/turnlog", nodes[0].dataDir())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // pages wait for what is to come true
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", script+"\necho the end\n")
	cmd.Env = append(cleanEnv(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"),
		"TURNLOG_ADDR="+strings.Join(addrs, ","))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "\nthe end\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The commands of docs/operations/full-disk.md find a cluster whose disks are full of sessions, and make room: at once,
// or after all nodes have been started again, twice.
func TestFullDiskPage(t *testing.T) {
	for name, restarts := range map[string]int{"at once": 0, "after restarts": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := startNodes(t, smallDisk(t, 448), smallDisk(t, 448), smallDisk(t, 448))
			sessions := []string{"chat:1", "chat:1", "chat:2", "trial:1"}
			t.Logf("full with %d MiB of messages", fillDisk(t, nodes[0], 448, sessions...))
			for range restarts {
				for _, n := range nodes {
					n.stop(syscall.SIGKILL)
				}
				for _, n := range nodes {
					n.process = startProcess(t, nil, n.args...)
				}
				for _, n := range nodes {
					n.until("a node leads", n.knowsLeader)
				}
				t.Logf("%d MiB more", fillDisk(t, nodes[0], 448, sessions...)) // what is not yet rejected
			}
			text := follow(t, "../../docs/operations/full-disk.md", nodes)
			says(t, text, "kept in reserve", "Filesystem", "state.db", "\tchat:1\n", ", 2 kept", "removed",
				"healthy: 3 nodes")
			if n := strings.Count(text, "seq "); n != 1 {
				t.Errorf("%d of the page's appends took place:\n%s", n, text)
			}
		})
	}
}

// A leader whose disk is slow logs what docs/operations/slow-disk.md quotes, and another node leads; then the page's
// commands work.
func TestSlowDiskPage(t *testing.T) {
	t.Parallel()
	var disks []*disk.Disk
	var dirs []string
	for range 3 {
		dir := t.TempDir()
		d, err := disk.Mount(filepath.Join(dir, "mount"), filepath.Join(dir, "behind"))
		if err != nil {
			t.Skipf("NOT TESTED: what happens on slow disks. This test mounts disks of its own, and may not: %v", err)
		}
		t.Cleanup(func() { _ = d.Unmount() }) // after the nodes have ended
		disks, dirs = append(disks, d), append(dirs, filepath.Join(dir, "mount", "data"))
	}
	nodes := startNodes(t, dirs...)
	leader, _ := byRole(nodes)
	leader.ok("append", "a", "1")
	slow := disks[0]
	for i, n := range nodes {
		if n == leader {
			slow = disks[i]
		}
	}
	slow.Set(disk.Faults{SyncDelay: 3 * time.Second})
	defer slow.Set(disk.Faults{})
	other := leader
	for _, n := range nodes {
		if n != leader {
			other = n
		}
	}
	other.until("another node leads", func() bool {
		_ = other.run("append", "a", "x", "--timeout", "5s")
		now, _ := other.leadership()
		return now != "" && now != leader.args[2]
	})
	slow.Set(disk.Faults{}) // or else elections may go on while the page's commands run
	other.until("all is well", func() bool {
		return strings.HasPrefix(other.run("cluster", "health").stdout, "healthy")
	})
	text := follow(t, "../../docs/operations/slow-disk.md", nodes)
	says(t, text, "SYNC P99", "turnlog_log_append_duration_seconds_count")
	if !strings.Contains(leader.text(), "the disk is slow; transferring leadership") {
		t.Errorf("the log does not have the line that the page quotes:\n%s", leader.text())
	}
}

// The commands of docs/operations/clocks.md compare the clocks of a cluster. `make cluster-test` puts them wrong.
func TestClocksPage(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, t.TempDir(), t.TempDir(), t.TempDir())
	text := follow(t, "../../docs/operations/clocks.md", nodes)
	says(t, text, "seq 1, revision 1", "now\n1 of 1 message, revision 1")
	if n := strings.Count(text, "Date: "); n != 3 {
		t.Errorf("%d of 3 nodes told the time:\n%s", n, text)
	}
}

// The commands of docs/operations/zones.md show where the nodes are; the preferred one leads, and leads again after
// another one was made the leader.
func TestZonesPage(t *testing.T) {
	t.Parallel()
	nodes := startNodesWith(t, func(i int) []string {
		return [][]string{{"--zone", "eu-1a", "--leader-preference", "10"}, {"--zone", "eu-1a"}, {"--zone", "eu-1b"}}[i]
	}, t.TempDir(), t.TempDir(), t.TempDir())
	for _, n := range nodes { // n1 itself may say so last
		n.until("the preferred node leads, and all is well", func() bool {
			leader, _ := n.leadership()
			return leader == "n1" && n.run("cluster", "status").status == 0
		})
	}
	text := follow(t, "../../docs/operations/zones.md", nodes)
	says(t, text, "warning: 2 of 3 voters are in zone eu-1a (n1, n2): without it, there is no majority", "ZONE",
		"eu-1a, prefers 10", "n1 leader in eu-1a", "n2 follower in eu-1a", "n3 follower in eu-1b",
		`turnlog_zone_info{zone="eu-1a"} 1`, "turnlog_leader_preference 10")
}
