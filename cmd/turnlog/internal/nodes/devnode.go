package nodes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/turnlog/turnlog/internal/testcluster"
)

// devNode is a node process.
type devNode struct {
	id               string
	resp, http, raft string
	logName          string
	args             []string // of serve

	process *testcluster.Process // nil: never started
}

func newDevNode(dir string, i, port int) *devNode {
	n := &devNode{
		id:   fmt.Sprintf("n%d", i+1),
		resp: fmt.Sprintf("127.0.0.1:%d", port),
		http: fmt.Sprintf("127.0.0.1:%d", port+1),
		raft: fmt.Sprintf("127.0.0.1:%d", port+2),
	}
	n.logName = filepath.Join(dir, n.id+".log")
	n.args = []string{"serve", "--node-id", n.id, "--data-dir", filepath.Join(dir, n.id),
		"--resp-addr", n.resp, "--http-addr", n.http, "--raft-addr", n.raft}
	return n
}

// start runs the process; it is sent to exits when it has ended. Should dev be killed, it
// is asked to stop.
func (n *devNode) start(exits chan<- *devNode) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, n.args...)
	cmd.SysProcAttr = testcluster.ChildAttributes(syscall.SIGTERM)
	n.process, err = testcluster.StartProcess(n.id, n.logName, cmd, func(string) { exits <- n })
	return err
}

func (n *devNode) commandLine() string {
	self, err := os.Executable()
	if err != nil {
		self = "turnlog"
	}
	return self + " " + strings.Join(n.args, " ")
}
