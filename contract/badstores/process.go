package badstores

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/turnlog/turnlog/contract"
)

// processDefects are what a process that is killed leaves, or takes with it.
var processDefects = []Bad{
	{Name: "orphaned-lock", Caught: "restart/blue-green",
		Defect: "a process that is killed leaves its lock behind", ByChance: true,
		build: shared(func() *Shared { return &Shared{Locks: true} })},
	{Name: "process-buffer", Caught: "restart/blue-green",
		Defect: "saves are collected in the process, and lost with it", ByChance: true,
		build: shared(func() *Shared { return &Shared{Collects: true} })},
}

// processEnv holds, in a writer process, the defects of the store that it shares, and
// its directory.
const processEnv = "TURNLOG_BADSTORE"

// WriterMain is contract.WriterMain if this process is a writer that a Target of this
// package has started, which it reports. Programs that run these targets call it first.
func WriterMain(ctx context.Context, in io.Reader, out io.Writer) (writer bool, err error) {
	text := os.Getenv(processEnv)
	if text == "" {
		return false, nil
	}
	s := &Shared{}
	if _, err := fmt.Sscanf(text, "%t %t %s", &s.Locks, &s.Collects, &s.Dir); err != nil {
		return true, err
	}
	return true, contract.WriterMain(ctx, in, out, s.open)
}

func (s *Shared) open(context.Context) (contract.Store, error) { return s.Open(), nil }

// sharedTarget returns s in a new directory for temporary files.
func sharedTarget(s *Shared) contract.Target {
	t := contract.Target{Name: "files"}
	t.Open = func(context.Context) (_ contract.Store, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Dir == "" {
			s.Dir, err = os.MkdirTemp("", "turnlog-badstore-")
		}
		return s.Open(), err
	}
	t.Copy = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%t %t %s", processEnv, s.Locks, s.Collects, s.Dir))
		return cmd
	}
	return t
}

// Files returns a correct store that processes share.
func Files() contract.Target { return sharedTarget(&Shared{}) }

// shared builds a store that processes share.
func shared(s func() *Shared) func() contract.Target {
	return func() contract.Target { return sharedTarget(s()) }
}
