package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
)

// testVersion is the version that the program under test says that it has.
const testVersion = "0.0.0-test.1"

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(crowdEnv) != "" {
		runCrowd()
	}
	dir, err := os.MkdirTemp("", "turnlog-test")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "turnlog")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version="+testVersion, "-o", binary,
		".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// result is how a command ended.
type result struct {
	status         int
	stdout, stderr string
}

// shell runs the program with arguments against the server at addr.
type shell struct {
	t    *testing.T
	addr string
}

func (c shell) run(args ...string) result { return c.pipe("", args...) }

// pipe runs the program with standard input.
func (c shell) pipe(stdin string, args ...string) result {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), binary, args...)
	cmd.Env = append(cleanEnv(), "TURNLOG_ADDR="+c.addr)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("%q: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// ok runs a command that must succeed and returns its output.
func (c shell) ok(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	if r.status != 0 {
		c.t.Fatalf("%q: status %d\n%s%s", args, r.status, r.stdout, r.stderr)
	}
	return r.stdout
}

// fails runs a command that must end with a status and say something.
func (c shell) fails(status int, says string, args ...string) {
	c.t.Helper()
	r := c.run(args...)
	if r.status != status || !strings.Contains(r.stderr, says) {
		c.t.Errorf("%q: status %d, stderr %q; want status %d and %q", args, r.status, r.stderr, status, says)
	}
}

// field returns a field of the JSON object that a command writes.
func (c shell) field(name string, args ...string) string {
	c.t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(c.ok(append([]string{"--json"}, args...)...)), &object); err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprint(object[name])
}

// cleanEnv is the environment without what configures turnlog.
func cleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TURNLOG_") {
			env = append(env, v)
		}
	}
	return env
}

// process is a process of `turnlog serve` or `turnlog dev`.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *os.File
	ended  chan struct{} // closed when it has
}

func startProcess(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startCommand(t, env, exec.Command(binary, args...))
}

func startCommand(t *testing.T, env []string, cmd *exec.Cmd) *process {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, output: output, ended: make(chan struct{})}
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // how it ended stands in ProcessState
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		output.Close()
		if t.Failed() {
			t.Logf("output of %q:\n%s", cmd.Args[1:], p.text())
		}
	})
	return p
}

func (p *process) text() string {
	text, err := os.ReadFile(p.output.Name())
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// until waits for something that the process does.
func (p *process) until(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-p.ended:
			p.t.Fatalf("the process has ended before %s:\n%s", what, p.text())
		case <-deadline:
			p.t.Fatalf("waited in vain for: %s\n%s", what, p.text())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop sends a signal and returns the exit status.
func (p *process) stop(s os.Signal) int {
	p.t.Helper()
	p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatalf("does not stop:\n%s", p.text())
	}
	return p.cmd.ProcessState.ExitCode()
}

// node is a single `turnlog serve`.
type node struct {
	*process
	shell
	http string
	args []string
}

// startNode starts a node of its own in dir and waits until it is ready.
func startNode(t *testing.T, dir string, more ...string) *node {
	t.Helper()
	ports := freePorts(t, 3)
	n := &node{http: ports[1]}
	n.args = append([]string{"serve", "--data-dir", dir, "--resp-addr", ports[0], "--http-addr", ports[1],
		"--raft-addr", ports[2]}, more...)
	n.shell = shell{t, ports[0]}
	n.start(t)
	return n
}

func (n *node) start(t *testing.T) {
	t.Helper()
	n.process = startProcess(t, nil, n.args...)
	n.until("ready", func() bool { return isReady(n.http) })
}

func isReady(addr string) bool {
	res, err := http.Get("http://" + addr + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	return ports.For(t, n)
}

// freeBase returns a port base for a dev cluster of three nodes.
func freeBase(t *testing.T) int {
	t.Helper()
	return ports.RowFor(t, 30)
}
