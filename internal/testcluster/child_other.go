//go:build !linux

package testcluster

import "syscall"

// ChildAttributes puts a process into a group of its own, so that Ctrl-C reaches this
// one alone.
func ChildAttributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
