package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/turnlog/turnlog/cluster-test/disk"
	"github.com/turnlog/turnlog/internal/faultproxy"
)

// Node is one turnlog process, which may be started again and again.
type Node struct {
	ID  string
	Dir string // its data
	// Disk is what Dir lies on, if that is one of ours, else nil.
	Disk *disk.Disk
	Log  string // what it writes to stdout and stderr, all starts together

	// Where clients reach it: proxies, through which answers can be lost.
	RESP, HTTP *faultproxy.Proxy
	// What happens to the bytes between clients and the node.
	Requests, Answers *faultproxy.Direction
	// Its own addresses, past the proxies.
	RESPAddr, HTTPAddr, RaftAddr string

	binary string
	args   []string
	within []string // a command that runs the binary where it belongs, if any
	clock  *clock   // nil if it cannot be put wrong
	// security is the cluster's, nil if it has none.
	security *Security

	mu      sync.Mutex
	process *process // nil when it is not running
	paused  bool
	starts  int
	// deaths are the exits that the tester did not cause.
	deaths []string
}

// process is one start of a node.
type process struct {
	cmd      *exec.Cmd
	exited   chan struct{} // closed when it is gone
	expected bool          // the tester ended it; guarded by Node.mu
}

// Start runs the node, with further flags for this time. It does not wait until
// it is ready.
func (n *Node) Start(flags ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return fmt.Errorf("%s runs already", n.ID)
	}
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own descriptor
	n.starts++
	fmt.Fprintf(log, "--- start %d at %s ---\n", n.starts, time.Now().Format(time.RFC3339Nano))
	words := slices.Concat(n.within, []string{n.binary}, n.args, flags)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if n.clock != nil {
		cmd.Env = append(os.Environ(), clockVariable+"="+n.clock.path)
	}
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.ID, err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	n.process, n.paused = p, false
	go n.wait(p)
	return nil
}

// Use has the node run another binary from its next start on.
func (n *Node) Use(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binary = binary
}

// wait ends with the process, which Cluster.Close kills at the latest.
func (n *Node) wait(p *process) {
	err := p.cmd.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !p.expected {
		n.deaths = append(n.deaths, fmt.Sprintf("%s ended by itself in start %d: %v", n.ID, n.starts, err))
	}
	if n.process == p {
		n.process = nil
	}
	close(p.exited)
}

// Kill is kill -9. It waits until the process is gone.
func (n *Node) Kill() error {
	p, err := n.signal(syscall.SIGKILL, true)
	if p != nil {
		<-p.exited
	}
	return err
}

// Stop is kill -TERM, as an operator stops a node. If the process is not gone
// within limit it is killed, and Stop returns an error.
func (n *Node) Stop(limit time.Duration) error {
	p, err := n.signal(syscall.SIGTERM, true)
	if p == nil {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(limit):
		p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("%s did not stop within %v", n.ID, limit)
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s stopped with %s instead of exit status 0", n.ID, state)
	}
	return nil
}

// Pause freezes the process, and Resume lets it go on.
func (n *Node) Pause() error {
	_, err := n.signal(syscall.SIGSTOP, false)
	n.setPaused(err == nil)
	return err
}

func (n *Node) Resume() error {
	_, err := n.signal(syscall.SIGCONT, false)
	n.setPaused(false)
	return err
}

func (n *Node) setPaused(paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = paused
}

// errNotRunning is returned by signals to a node that is down.
var errNotRunning = errors.New("node is not running")

func (n *Node) signal(s syscall.Signal, ends bool) (*process, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.process
	if p == nil {
		return nil, fmt.Errorf("%s: %w", n.ID, errNotRunning)
	}
	p.expected = p.expected || ends
	return p, p.cmd.Process.Signal(s)
}

// Running reports whether the process exists, Healthy whether it can also act.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil
}

func (n *Node) Healthy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil && !n.paused
}

// PID is the process's id, 0 when it is not running.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return 0
	}
	return n.process.cmd.Process.Pid
}

// Exited is closed when the present process is gone; nil when there is none.
func (n *Node) Exited() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return nil
	}
	return n.process.exited
}

// Expect says whether the present process may end by itself.
func (n *Node) Expect(mayEnd bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		n.process.expected = mayEnd
	}
}

// Deaths tells how often the process ended without the tester's doing.
func (n *Node) Deaths() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.deaths...)
}
