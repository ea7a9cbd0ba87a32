package bench

import (
	"io/fs"
	"os"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the servers, since the benchmark stops
// them itself, and ends them should it be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// occupied returns what a file takes of its disk, which is less than its size if
// it has holes, and more if space was reserved for it.
func occupied(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Blocks) * 512
	}
	return uint64(info.Size())
}
