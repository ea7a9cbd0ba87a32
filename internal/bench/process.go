package bench

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// processes are servers that the benchmark started, and their ports.
type processes struct {
	all   []*testcluster.Process
	ports ports.Reserved
}

// start runs a program in dir; its output goes to NAME.log there.
func (p *processes) start(dir, name, binary string, args ...string) error {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	started, err := testcluster.StartProcess(name, filepath.Join(dir, name+".log"), cmd, nil)
	if err == nil {
		p.all = append(p.all, started)
	}
	return err
}

// Stop ends them; their data is not needed any more.
func (p *processes) Stop() {
	for _, one := range p.all {
		one.Kill()
	}
	p.ports.Release()
}

func (p *processes) pids() []int {
	var ids []int
	for _, one := range p.all {
		ids = append(ids, one.PID())
	}
	return ids
}

// until polls ready until it says nil, and fails with a process, ctx, or after startTime
// with the last that ready said.
func (p *processes) until(ctx context.Context, ready func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var last, died error
	err := testcluster.Until(ctx, "the servers are ready", func() bool {
		if last = ready(ctx); last == nil {
			return true
		}
		for _, one := range p.all {
			died = errors.Join(died, one.Died())
		}
		return died != nil
	})
	return errors.Join(died, err, last)
}
