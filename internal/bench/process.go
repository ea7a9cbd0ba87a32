package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a server that the benchmark started.
type process struct {
	name    string
	cmd     *exec.Cmd
	logName string
	exited  chan struct{} // closed when it has ended
}

// startProcess runs a program in dir; its output goes to NAME.log there.
func startProcess(dir, name, binary string, args ...string) (*process, error) {
	p := &process{name: name, logName: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.logName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p.cmd = exec.Command(binary, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = ownGroup()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.cmd.Wait() // how it ended stands in ProcessState
		close(p.exited)
	}()
	return p, nil
}

// stop asks the process to end, waits, and kills it in the end.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return
	case <-time.After(20 * time.Second):
	}
	p.kill()
}

// kill ends the process as a crash would, and waits.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// stopAll stops processes at the same time.
func stopAll(all []*process) {
	for _, p := range all {
		p.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, p := range all {
		p.stop()
	}
}

func pids(all []*process) []int {
	var ids []int
	for _, p := range all {
		ids = append(ids, p.cmd.Process.Pid)
	}
	return ids
}

// died returns an error with the end of the log, if the process has ended.
func (p *process) died() error {
	select {
	case <-p.exited:
	default:
		return nil
	}
	text, _ := os.ReadFile(p.logName)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s has ended (%s); the end of its log:\n%s", p.name, p.cmd.ProcessState, strings.Join(lines[max(0, len(lines)-5):], "\n"))
}

// until is untilWithin a minute.
func until(ctx context.Context, processes []*process, ready func(ctx context.Context) error) error {
	return untilWithin(ctx, time.Minute, processes, ready)
}

// untilWithin polls ready until it says nil, and fails with a process, ctx, or
// after limit with the last that ready said.
func untilWithin(ctx context.Context, limit time.Duration, processes []*process, ready func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		for _, p := range processes {
			if err := p.died(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-poll.C:
		}
	}
}
