package bench

import (
	"os"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the servers, since the benchmark stops
// them itself, and ends them should it be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
