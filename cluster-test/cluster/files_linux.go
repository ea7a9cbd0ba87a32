package cluster

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// LimitFiles has the process open hardly any more files and connections than it has,
// and returns what its limit was.
func (n *Node) LimitFiles(more int) (before uint64, err error) {
	pid := n.PID()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil || pid == 0 {
		return 0, nil // it is down
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return 0, err
	}
	low := unix.Rlimit{Cur: min(old.Cur, uint64(len(open)+more)), Max: old.Max}
	return old.Cur, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &low, nil)
}

// AllowFiles gives the process a limit of so many descriptors.
func (n *Node) AllowFiles(limit uint64) error {
	pid := n.PID()
	if pid == 0 {
		return nil
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: old.Max}, nil)
}
