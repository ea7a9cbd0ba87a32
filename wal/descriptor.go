package wal

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// openPatience is how long an open waits while the process, or the system, has no
// file descriptor left. It may get one when a connection is closed.
const openPatience = 5 * time.Second

// openPatiently opens a file. A missing file descriptor says nothing about the
// disk, and what is to be opened is the node's own: it is worth waiting for.
func openPatiently(open func() (*os.File, error)) (*os.File, error) {
	for end := time.Now().Add(openPatience); ; time.Sleep(20 * time.Millisecond) {
		f, err := open()
		if err == nil || !noDescriptor(err) || time.Now().After(end) {
			return f, err
		}
	}
}

// noDescriptor tells that nothing was opened for want of a file descriptor.
func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
