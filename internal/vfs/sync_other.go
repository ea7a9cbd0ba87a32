//go:build unix && !linux

package vfs

import "os"

func datasync(f *os.File) error { return f.Sync() }

func beginWriteback(*os.File, int64, int64) {}

func reserve(*os.File, int64, int64) error { return nil }
