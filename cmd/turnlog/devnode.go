package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// devNode is a node process.
type devNode struct {
	id               string
	resp, http, raft string
	logName          string
	args             []string // of serve

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended; nil: never started
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

// start runs the process; it is sent to exits when it has ended.
func (n *devNode) start(exits chan<- *devNode) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(n.logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	n.cmd = exec.Command(self, n.args...)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.SysProcAttr = ownGroup()
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", n.id, err)
	}
	n.exited = make(chan struct{})
	go func() {
		n.cmd.Wait() // how it ended stands in ProcessState
		close(n.exited)
		exits <- n
	}()
	return nil
}

func (n *devNode) pid() int { return n.cmd.Process.Pid }

// how says how the process ended.
func (n *devNode) how() string { return n.cmd.ProcessState.String() }

func (n *devNode) interrupt() { n.signal(syscall.SIGTERM) }
func (n *devNode) kill()      { n.signal(syscall.SIGKILL) }

// signal does nothing to a process that has ended.
func (n *devNode) signal(s syscall.Signal) {
	if n.exited != nil {
		n.cmd.Process.Signal(s)
	}
}

func (n *devNode) commandLine() string {
	self, err := os.Executable()
	if err != nil {
		self = "turnlog"
	}
	return self + " " + strings.Join(n.args, " ")
}

// lastLines returns the end of the node's log.
func (n *devNode) lastLines() string {
	text, err := os.ReadFile(n.logName)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
