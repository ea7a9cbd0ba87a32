//go:build !linux

package cluster

import "syscall"

// childAttributes puts a node into a process group of its own, so that Ctrl-C
// reaches the tester alone.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
