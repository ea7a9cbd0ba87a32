//go:build !linux

package bench

import (
	"io/fs"
	"os"
)

func syncData(f *os.File) error { return f.Sync() }

func occupied(info fs.FileInfo) uint64 { return uint64(info.Size()) }
