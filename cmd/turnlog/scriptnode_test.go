package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/turnlog/turnlog/internal/ports"
)

// scriptNodes is the key of a script's nodes by id.
type scriptNodes struct{}

// A scriptProcess is a node that a script starts, maybe several times.
type scriptProcess struct {
	resp, http, raft string
	args             []string
	cmd              *exec.Cmd
	output           string
	ended            chan struct{} // closed when it has
}

// scriptNode starts a node; the second time, with the ports, data and flags of the first.
func scriptNode(ts *testscript.TestScript, joins bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("a node needs an id")
	}
	nodes := ts.Value(scriptNodes{}).(map[string]*scriptProcess)
	n := nodes[args[0]]
	if n == nil {
		n = newScriptProcess(ts, args[0], args[1:])
		nodes[args[0]] = n
	}
	flags := n.args
	if joins {
		flags = append(flags, "--join")
	}
	n.start(ts, flags)
	if joins {
		n.until(ts, "its port for nodes is open", func() bool {
			c, err := net.Dial("tcp", n.raft)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
		return
	}
	n.until(ts, "ready", func() bool { return isReady(n.http) })
	ts.Setenv("TURNLOG_ADDR", n.resp)
}

func newScriptProcess(ts *testscript.TestScript, id string, flags []string) *scriptProcess {
	var reserved ports.Reserved
	addrs, err := reserved.Addrs(3)
	ts.Defer(reserved.Release)
	ts.Check(err)
	n := &scriptProcess{resp: addrs[0], http: addrs[1], raft: addrs[2], output: ts.MkAbs(id + ".log")}
	n.args = append([]string{"serve", "--node-id", id, "--data-dir", ts.MkAbs(id), "--resp-addr", n.resp,
		"--http-addr", n.http, "--raft-addr", n.raft}, flags...)
	ts.Setenv(id+"_RESP", n.resp)
	ts.Setenv(id+"_RAFT", n.raft)
	return n
}

func (n *scriptProcess) start(ts *testscript.TestScript, args []string) {
	output, err := os.OpenFile(n.output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	ts.Check(err)
	defer output.Close()
	n.cmd = exec.Command(binary, args...)
	n.cmd.Dir, n.cmd.Env = ts.MkAbs("."), cleanEnv()
	n.cmd.Stdout, n.cmd.Stderr = output, output
	ts.Check(n.cmd.Start())
	cmd, ended := n.cmd, make(chan struct{})
	n.ended = ended
	go func() {
		cmd.Wait() // how it ended stands in ProcessState
		close(ended)
	}()
	ts.Defer(func() {
		cmd.Process.Kill()
		<-ended
	})
}

func (n *scriptProcess) text(ts *testscript.TestScript) string {
	text, err := os.ReadFile(n.output)
	ts.Check(err)
	return string(text)
}

func (n *scriptProcess) until(ts *testscript.TestScript, what string, ok func() bool) {
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-n.ended:
			ts.Fatalf("the node has ended before: %s\n%s", what, n.text(ts))
		case <-deadline:
			ts.Fatalf("waited in vain for: %s\n%s", what, n.text(ts))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func scriptStop(ts *testscript.TestScript, _ bool, args []string) {
	n := ts.Value(scriptNodes{}).(map[string]*scriptProcess)[strings.Join(args, " ")]
	if n == nil {
		ts.Fatalf("no node %q", args)
	}
	n.cmd.Process.Signal(syscall.SIGTERM)
	n.waitEnd(ts)
	if status := n.cmd.ProcessState.ExitCode(); status != 0 {
		ts.Fatalf("the node ended with status %d\n%s", status, n.text(ts))
	}
}

func (n *scriptProcess) waitEnd(ts *testscript.TestScript) {
	select {
	case <-n.ended:
	case <-time.After(time.Minute):
		ts.Fatalf("does not stop\n%s", n.text(ts))
	}
}
