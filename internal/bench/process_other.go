//go:build !linux

package bench

import (
	"io/fs"
	"os"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the servers, since the benchmark stops
// them itself.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func syncData(f *os.File) error { return f.Sync() }

func occupied(info fs.FileInfo) uint64 { return uint64(info.Size()) }
