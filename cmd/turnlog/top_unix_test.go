//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
)

// Top goes on while no node answers, as when a whole cluster is started again.
func TestTopOutlivesTheNodes(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	top := startProcess(t, nil, "top", "--addr", n.addr, "--interval", "100ms", "--timeout", "300ms")
	top.until("a view", func() bool { return strings.Contains(top.text(), "healthy: 1 node") })
	n.stop(syscall.SIGKILL)
	top.until("that no node answers", func() bool { return strings.Contains(top.text(), "UNAVAILABLE") })
	before := strings.Count(top.text(), "healthy: 1 node")
	n.start(t)
	top.until("a view again", func() bool { return strings.Count(top.text(), "healthy: 1 node") > before })
	if status := top.stop(syscall.SIGINT); status != 0 {
		t.Errorf("Ctrl-C: status %d", status)
	}
}
