package turnlogtest

import (
	"strings"
	"syscall"
	"testing"
)

// TestDies: a node that ends without having been killed is an error of its cluster, also when it runs
// again.
func TestDies(t *testing.T) {
	t.Parallel()
	c, err := NewCluster(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := c.Nodes()[1]
	process := n.process
	if err := process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	<-process.Exited()
	if err := n.Kill(); err == nil || !strings.Contains(err.Error(), "n2 has ended") {
		t.Errorf("killed: %v", err)
	}
	if err := n.Restart(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "n2 has ended") {
		t.Errorf("closed: %v", err)
	}
}
