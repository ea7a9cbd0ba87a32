package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a program that was started. Its methods may be called by any goroutine.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{} // closed when it is gone
}

// StartProcess runs a command, whose output is appended to the file log. Unless cmd says
// otherwise, the process is killed if this one dies. A goroutine waits for its end and then
// calls ended, unless that is nil, before the process counts as gone.
func StartProcess(name, log string, cmd *exec.Cmd, ended func(outcome string)) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has its own descriptor
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = ChildAttributes(syscall.SIGKILL)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, log: log, cmd: cmd, exited: make(chan struct{})}
	go func() {
		cmd.Wait() // how it ended is in ProcessState
		if ended != nil {
			ended(cmd.ProcessState.String())
		}
		close(p.exited)
	}()
	return p, nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Outcome waits until the process is gone, and returns how it ended.
func (p *Process) Outcome() string {
	<-p.exited
	return p.cmd.ProcessState.String()
}

// Signal does nothing to a process that is gone.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the process as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// Stop asks the process to end, and waits until it is gone. If that takes longer than
// limit it is killed; that is an error, as is another exit status than 0.
func (p *Process) Stop(limit time.Duration) error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("%s did not stop within %v", p.name, limit)
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s stopped with %s instead of exit status 0", p.name, state)
	}
	return nil
}

// Died returns an error with the end of the output if the process is gone.
func (p *Process) Died() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s has ended (%s); the end of its log:\n%s", p.name, p.Outcome(), p.LastLines())
	default:
		return nil
	}
}

// LastLines returns the end of the output.
func (p *Process) LastLines() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
