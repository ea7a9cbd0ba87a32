//go:build !linux

package blockfile

import "os"

func datasync(f *os.File) error { return f.Sync() }

func beginWriting(*os.File, int64, int64) {}
