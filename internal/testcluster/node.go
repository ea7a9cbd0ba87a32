package testcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Node is one node of turnlog: a process, which may be started again and again. The
// exported fields are set before the first start, except Binary. Its methods may be
// called by any goroutine.
type Node struct {
	ID  string
	Dir string // its data
	Log string // what it writes to stdout and stderr, all starts together
	// Its own addresses. PprofAddr may be empty.
	RESPAddr, HTTPAddr, RaftAddr, PprofAddr string

	Args   []string // of turnlog serve, beside what the fields above say
	Within []string // a command that runs the binary where it belongs, if any
	Env    []string // further variables of its environment
	// Operator is how requests to its HTTP API are made: that of an administrator.
	Operator Entry
	// CallTimeout is how long such a request may take; default 30 s.
	CallTimeout time.Duration

	mu      sync.Mutex
	binary  string
	current *run // nil when it is not running
	last    *run // the latest, whether it runs or not
	paused  bool
	starts  int
	// deaths are the exits that the owner did not cause.
	deaths []string
}

// run is one start of a node.
type run struct {
	*Process
	expected bool // the owner ended it; guarded by Node.mu
}

// Start runs the node, with further flags for this time. It does not wait until
// it is ready.
func (n *Node) Start(flags ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != nil {
		return fmt.Errorf("%s is already running", n.ID)
	}
	n.starts++
	if err := n.logStart(); err != nil {
		return err
	}
	words := slices.Concat(n.Within, []string{n.binary}, n.args(), flags)
	cmd := exec.Command(words[0], words[1:]...)
	if len(n.Env) > 0 {
		cmd.Env = append(os.Environ(), n.Env...)
	}
	r := new(run)
	var err error
	if r.Process, err = StartProcess(n.ID, n.Log, cmd, func(outcome string) { n.ended(r, outcome) }); err != nil {
		return err
	}
	n.current, n.last, n.paused = r, r, false
	return nil
}

func (n *Node) logStart() error {
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(log, "--- start %d at %s ---\n", n.starts, time.Now().Format(time.RFC3339Nano))
	return errors.Join(err, log.Close())
}

func (n *Node) args() []string {
	args := []string{"serve", "--node-id", n.ID, "--data-dir", n.Dir,
		"--resp-addr", n.RESPAddr, "--http-addr", n.HTTPAddr, "--raft-addr", n.RaftAddr}
	if n.PprofAddr != "" {
		args = append(args, "--pprof-addr", n.PprofAddr)
	}
	return append(args, n.Args...)
}

// Use has the node run this binary from its next start on.
func (n *Node) Use(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binary = binary
}

func (n *Node) ended(r *run, outcome string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !r.expected {
		n.deaths = append(n.deaths, fmt.Sprintf("%s ended by itself in start %d: %s", n.ID, n.starts, outcome))
	}
	n.current = nil
}

// Kill is kill -9. It waits until the process is gone.
func (n *Node) Kill() error {
	r, err := n.running(true)
	if err != nil {
		return err
	}
	r.Kill()
	return nil
}

// Stop is kill -TERM, as an operator stops a node. If the process is not gone
// within limit it is killed, and Stop returns an error.
func (n *Node) Stop(limit time.Duration) error {
	r, err := n.running(true)
	if err != nil {
		return err
	}
	return r.Stop(limit)
}

// Pause freezes the process, and Resume lets it go on.
func (n *Node) Pause() error {
	err := n.signal(syscall.SIGSTOP)
	n.setPaused(err == nil)
	return err
}

func (n *Node) Resume() error {
	err := n.signal(syscall.SIGCONT)
	n.setPaused(false)
	return err
}

func (n *Node) setPaused(paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = paused
}

// Reload has the node read its users and certificates again. It must have begun to serve:
// before, the signal ends a process.
func (n *Node) Reload() error {
	return n.signal(syscall.SIGHUP)
}

// errNotRunning is returned by what needs a process.
var errNotRunning = errors.New("node is not running")

func (n *Node) signal(s syscall.Signal) error {
	r, err := n.running(false)
	if err != nil {
		return err
	}
	return r.Signal(s)
}

// running returns the present process. ends: its end is no surprise any more.
func (n *Node) running(ends bool) (*run, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == nil {
		return nil, fmt.Errorf("%s: %w", n.ID, errNotRunning)
	}
	n.current.expected = n.current.expected || ends
	return n.current, nil
}

// Running reports whether the process exists, Healthy whether it can also act.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current != nil
}

func (n *Node) Healthy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current != nil && !n.paused
}

// PID is the process's id, 0 when it is not running.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == nil {
		return 0
	}
	return n.current.PID()
}

// Exited is closed when the present process is gone; nil when there is none.
func (n *Node) Exited() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == nil {
		return nil
	}
	return n.current.Exited()
}

// Starts is how often the node was started.
func (n *Node) Starts() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.starts
}

// Expect says whether the present process may end by itself.
func (n *Node) Expect(mayEnd bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != nil {
		n.current.expected = mayEnd
	}
}

// Deaths tells how often the process ended without the owner's doing.
func (n *Node) Deaths() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.deaths...)
}

// Died returns an error with the end of the log if the latest start of the node ended
// without the owner's doing.
func (n *Node) Died() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current != nil || n.last == nil || n.last.expected {
		return nil
	}
	return n.last.Died()
}
