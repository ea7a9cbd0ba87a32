package turnlog_test

import (
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog"
)

// listening returns the ports on which this process listens, with their sockets.
func listening(t *testing.T) map[string]string {
	t.Helper()
	ours := map[string]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			ours[to] = true
		}
	}
	ports := map[string]string{}
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue // without IPv6
		}
		for line := range strings.Lines(string(table)) {
			const local, state, inode = 1, 3, 9
			if f := strings.Fields(line); len(f) > inode && f[state] == "0A" && ours["socket:["+f[inode]+"]"] {
				ports[f[inode]] = f[local]
			}
		}
	}
	return ports
}

// A node that a program opens for itself listens on no port, and neither does one in memory.
func TestOpensNoPort(t *testing.T) {
	before := listening(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if seen := listening(t); len(seen) != len(before)+1 {
		t.Fatalf("a port of this process is not seen: %v", seen)
	}
	l.Close()
	db := open(t, t.TempDir())
	add(t, db, "alice", "hello")
	memory, err := turnlog.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	add(t, memory, "alice", "hello")
	opened := listening(t)
	maps.DeleteFunc(opened, func(socket, _ string) bool { _, was := before[socket]; return was })
	if len(opened) > 0 {
		t.Errorf("it listens on %v", slices.Collect(maps.Values(opened)))
	}
}
