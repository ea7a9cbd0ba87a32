package main

import (
	"net"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// adminAt makes a node that tells its clients another HTTP address than it has.
func adminAt(t *testing.T, http string) *node {
	t.Helper()
	return startNode(t, t.TempDir(), "--http-advertise", http)
}

// dying is an address where each connection ends when a request has begun to come:
// a leader that is killed then.
func dying(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1))
			c.Close()
		}
	}()
	return l.Addr().String()
}

// A leader that dies while it is asked for a change may have made it.
func TestAdminOutcomes(t *testing.T) {
	t.Parallel()
	commands := [][]string{
		{"cluster", "join", "n4", "127.0.0.1:1"},
		{"cluster", "remove", "n4"},
		{"cluster", "transfer"},
	}
	n := adminAt(t, dying(t))
	for _, c := range commands {
		n.fails(cli.ExitUnknown, "may or may not have taken place", c...)
		if r := n.run(append([]string{"--json"}, c...)...); !strings.Contains(r.stderr, `"outcome":"unknown"`) {
			t.Errorf("%q: %s", c, r.stderr)
		}
	}
	n.fails(cli.ExitUnknown, "not compared", "cluster", "checksum")
	if r := n.run("cluster", "checksum"); strings.Contains(r.stderr, "change") {
		t.Errorf("a comparison speaks of changes: %s", r.stderr)
	}
	n = adminAt(t, freePorts(t, 1)[0]) // where nothing listens
	for _, c := range commands {
		n.fails(cli.ExitFailed, "Nothing was changed", c...)
	}
}

// What took place before a command failed is said, and not that nothing did.
func TestPartialOutcomes(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	n.ok("append", "b", "--id", "taken", "x")
	lines := `{"session":"a","messages":[{"id":"1","data":1},{"id":"2","data":2}]}
{"session":"b","messages":[{"id":"taken","data":"another"}]}
`
	partial := func(stdin, says string, args ...string) {
		t.Helper()
		n.ok("append", "c", "y")
		r := n.pipe(stdin, args...)
		if r.status == 0 || !strings.Contains(r.stderr, says) || strings.Contains(r.stderr, "Nothing was changed") {
			t.Errorf("%q: status %d, %s", args, r.status, r.stderr)
		}
		n.ok("append", "c", "y")
		r = n.pipe(strings.ReplaceAll(stdin, `"1"`, `"3"`), append([]string{"--json"}, args...)...)
		if !strings.Contains(r.stderr, `"outcome":"partly"`) {
			t.Errorf("%q: %s", args, r.stderr)
		}
	}
	partial(lines, "Before that, 2 messages were added", "import", "--workers", "1", "-")
	partial("", "Before that, 1 session was deleted", "rm", "c", strings.Repeat("k", 600))
	partial("", "were deleted", "rm", "c", "never")
	if r := n.run("--json", "rm", "never"); !strings.Contains(r.stderr, `"outcome":"not_applied"`) {
		t.Error(r.stderr)
	}
}
