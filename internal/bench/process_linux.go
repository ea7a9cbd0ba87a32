package bench

import (
	"io/fs"
	"os"
	"syscall"
)

func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// occupied returns what a file takes of its disk, which is less than its size if
// it has holes, and more if space was reserved for it.
func occupied(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Blocks) * 512
	}
	return uint64(info.Size())
}
