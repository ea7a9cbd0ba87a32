package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// TestDev: three processes by one command; import through a follower; kill one;
// stop, start again, and everything is there on every node.
func TestDev(t *testing.T) {
	dir, base := t.TempDir(), freeBase(t)
	args := []string{"dev", "--data-dir", dir, "--port-base", strconv.Itoa(base)}
	dev := startProcess(t, nil, args...)
	ready := func() bool { return strings.Contains(dev.text(), "Ctrl-C stops the cluster") }
	dev.until("ready", ready)
	at := func(i int) shell { return shell{t, fmt.Sprintf("127.0.0.1:%d", base+10*i)} }

	text, want := conversations(60)
	follower := 0
	if leader := at(0).field("leader", "cluster", "status"); leader == "n1" {
		follower = 1
	}
	if r := at(follower).pipe(string(text), "import", "-"); r.status != 0 {
		t.Fatal(r)
	}
	for i := range 3 {
		got, _ := parseExport(t, []byte(at(i).ok("export")))
		sameConversations(t, got, want)
	}
	if out := at(1).ok("cluster", "checksum"); !strings.HasPrefix(out, "3 of 3 nodes compared") {
		t.Error(out)
	}

	// The same data directory and ports cannot be used twice, and say why.
	at(0).fails(cli.ExitFailed, "--port-base", args...)
	at(0).fails(cli.ExitUsage, "3 nodes with port base", "dev", "--data-dir", dir, "--port-base", strconv.Itoa(base),
		"--nodes", "1")

	// A node that dies is reported; the others go on.
	pid := regexp.MustCompile(`n3 .*pid (\d+)`).FindStringSubmatch(dev.text())
	if pid == nil {
		t.Fatal(dev.text())
	}
	n, _ := strconv.Atoi(pid[1])
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	dev.until("the dead node is reported", func() bool {
		return strings.Contains(dev.text(), "n3 has ended (signal: killed)") &&
			strings.Contains(dev.text(), "2 of 3 nodes run")
	})
	at(0).ok("append", "alice", "still there")

	if status := dev.stop(syscall.SIGINT); status != 0 {
		t.Fatalf("Ctrl-C: status %d", status)
	}
	for i := 1; i <= 2; i++ {
		log := read(t, filepath.Join(dir, fmt.Sprintf("n%d.log", i)))
		if !bytes.Contains(log, []byte("msg=stopped")) {
			t.Errorf("n%d did not stop by itself:\n%s", i, log)
		}
	}
	dev = startProcess(t, nil, args...)
	dev.until("ready again", ready)
	for i := range 3 {
		if got := at(i).ok("read", "alice", "--raw"); got != "still there\n" {
			t.Errorf("n%d: %q", i+1, got)
		}
	}
	if status := dev.stop(os.Interrupt); status != 0 {
		t.Fatalf("second Ctrl-C: status %d", status)
	}
}

// TestTail: messages show up as they come, and Ctrl-C is a good end.
func TestTail(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	n.ok("append", "s", "1", "2", "3")
	tail := startProcess(t, []string{"TURNLOG_ADDR=" + n.addr}, "tail", "s", "--last", "2", "--json")
	tail.until("the last two", func() bool { return strings.Count(tail.text(), "\n") == 2 })
	n.ok("append", "s", "4")
	tail.until("the next one", func() bool { return strings.Count(tail.text(), "\n") == 3 })
	if !strings.HasPrefix(tail.text(), `{"seq":2,`) {
		t.Errorf("tail shows %s", tail.text())
	}
	// The node restarts under the tail.
	if status := n.stop(syscall.SIGTERM); status != 0 {
		t.Fatal(status)
	}
	n.start(t)
	n.ok("append", "s", "5")
	tail.until("the one after the restart", func() bool { return strings.Count(tail.text(), "\n") == 4 })
	if status := tail.stop(os.Interrupt); status != 0 {
		t.Errorf("Ctrl-C: status %d", status)
	}
	if got := n.ok("tail", "s", "--after", "0", "--count", "3", "--json"); strings.Count(got, "\n") != 3 {
		t.Errorf("tail --count: %s", got)
	}
	n.followRenamed(t)
	done := time.Now()
	n.stop(syscall.SIGKILL)
	n.fails(cli.ExitFailed, "stopped after seq", "tail", "s", "--after", "5", "--timeout", "500ms")
	if time.Since(done) > 15*time.Second {
		t.Error("a tail without a cluster does not end")
	}
}

// followRenamed follows a key from which a session is renamed, and one to which it is renamed. Each goes on with the
// session that the key has then, and says so.
func (n *node) followRenamed(t *testing.T) {
	n.ok("append", "from", "old 1", "old 2")
	n.ok("append", "to", "replaced")
	from := startProcess(t, []string{"TURNLOG_ADDR=" + n.addr}, "tail", "from", "--last", "1")
	to := startProcess(t, []string{"TURNLOG_ADDR=" + n.addr}, "tail", "to", "--last", "1")
	from.until("the last one", func() bool { return strings.Contains(from.text(), "old 2") })
	to.until("the last one", func() bool { return strings.Contains(to.text(), "replaced") })
	n.ok("rename", "from", "to", "--replace")
	const note = "was deleted, renamed or replaced, or has expired: what follows is another session of that key\n"
	to.until("what was renamed", func() bool { return strings.Contains(to.text(), note+"     1  ") })
	n.ok("append", "from", "new 1")
	from.until("the next one", func() bool { return strings.Contains(from.text(), note+"     1  ") })
	if strings.Contains(from.text(), "old 1") || !strings.Contains(to.text(), "old 2") {
		t.Errorf("from shows %s\nto shows %s", from.text(), to.text())
	}
}
