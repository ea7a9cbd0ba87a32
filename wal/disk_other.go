//go:build unix && !linux

package wal

import "os"

func datasync(f *os.File) error { return f.Sync() }

func reserve(*os.File, int64, int64) error { return nil }
