package turnlogtest

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/turnlog/turnlog/internal/config"
)

// Node is a node of a Cluster, and stays the same when it is killed and restarted. All methods may be
// called by any goroutine.
type Node struct {
	cluster *Cluster
	cfg     *config.Config
	log     string // a file

	// faults makes the faults of the node's process one after another.
	faults  sync.Mutex
	process *process // nil: killed, or not started yet
	closed  bool
	died    error // why the process ended on its own, if it did

	// What follows is guarded by cluster.mu.
	alive, paused, partitioned bool
	leader                     string // as the node said last; empty: none
}

// state is what a node is able to do.
type state string

const (
	running     state = "running"
	down        state = "not running"
	paused      state = "paused"
	partitioned state = "partitioned"
)

// state returns the first fault that keeps the node from being a leader; under cluster.mu.
func (n *Node) state() state {
	switch {
	case !n.alive:
		return down
	case n.paused:
		return paused
	case n.partitioned:
		return partitioned
	}
	return running
}

// ID returns the node's id: n1, n2 or n3.
func (n *Node) ID() string { return n.cfg.NodeID }

// Addr returns the HOST:PORT on which the node listens for Redis and turnlog clients.
func (n *Node) Addr() string { return n.cfg.Listen.RESP }

// HTTPAddr returns the HOST:PORT on which it listens for HTTP.
func (n *Node) HTTPAddr() string { return n.cfg.Listen.HTTP }

// Kill ends the node's process as `kill -9` does: it finishes no request, transfers no leadership, and
// flushes nothing. Connections to it break, and further ones are refused. It fails if the node does not
// run.
func (n *Node) Kill() error {
	n.faults.Lock()
	defer n.faults.Unlock()
	if err := n.mustRun("kill"); err != nil {
		return err
	}
	n.killLocked()
	return nil
}

// Restart runs a node again that was killed or has ended by itself, with its data and its addresses.
// When it returns, the node accepts connections; requests wait until it knows a leader. It fails if the
// node runs.
func (n *Node) Restart() error {
	n.faults.Lock()
	defer n.faults.Unlock()
	if n.closed {
		return fmt.Errorf("turnlogtest: restart %s: the cluster is closed", n.ID())
	}
	if n.process != nil && n.process.Died() == nil {
		return fmt.Errorf("turnlogtest: restart %s: it runs, and must be killed first", n.ID())
	}
	n.killLocked() // what is left of one that ended on its own
	n.cluster.update(func() { n.alive, n.leader = true, "" })
	p, err := startProcess(n.cfg, n.log, n.reported, n.ended)
	if err == nil {
		n.process = p
		if err = p.waitStarted(); err != nil {
			n.killLocked()
		}
	}
	if err != nil {
		n.cluster.update(func() { n.alive = false })
		return fmt.Errorf("turnlogtest: restart %s: %w", n.ID(), err)
	}
	return nil
}

// Pause stops the node's process by SIGSTOP, as if its machine swapped or collected garbage for
// long: its connections stay open, and it answers nothing, until Resume. It fails if the node does
// not run.
func (n *Node) Pause() error { return n.setPaused("pause", syscall.SIGSTOP, true) }

// Resume lets a paused node continue. If the node is not paused, it does nothing.
func (n *Node) Resume() error { return n.setPaused("resume", syscall.SIGCONT, false) }

func (n *Node) setPaused(what string, signal syscall.Signal, to bool) error {
	n.faults.Lock()
	defer n.faults.Unlock()
	if err := n.mustRun(what); err != nil {
		return err
	}
	if err := n.process.Signal(signal); err != nil {
		return fmt.Errorf("turnlogtest: %s %s: %w", what, n.ID(), err)
	}
	n.cluster.update(func() { n.paused = to })
	return nil
}

// Partition cuts the node off from the other nodes until Heal, whether it runs or not: what they send
// each other is held back, and neither side notices that. Clients can still reach the node.
func (n *Node) Partition() { n.cluster.update(func() { n.partitioned = true }) }

// Heal ends the node's partition; what was held back arrives late. The node then reaches the others,
// except those that are partitioned themselves.
func (n *Node) Heal() { n.cluster.update(func() { n.partitioned = false }) }

func (n *Node) mustRun(what string) error {
	if n.process == nil {
		return fmt.Errorf("turnlogtest: %s %s: it does not run", what, n.ID())
	}
	if err := n.process.Died(); err != nil {
		return fmt.Errorf("turnlogtest: %s %s: %w", what, n.ID(), err)
	}
	return nil
}

// killLocked ends the process, if there is one; under faults.
func (n *Node) killLocked() {
	if n.process == nil {
		return
	}
	n.died = errors.Join(n.died, n.process.Died())
	n.process.kill()
	n.process = nil
	n.cluster.update(func() { n.alive, n.paused, n.leader = false, false, "" })
}

// reported takes the node's word for who leads.
func (n *Node) reported(leader string) { n.cluster.update(func() { n.leader = leader }) }

// ended notes that the process has gone.
func (n *Node) ended(string) { n.cluster.update(func() { n.alive = false }) }

// end kills the node for good, and returns why it had ended on its own, if it had.
func (n *Node) end() error {
	n.faults.Lock()
	defer n.faults.Unlock()
	n.closed = true
	n.killLocked()
	return n.died
}
