//go:build !linux

package target

import "syscall"

// childAttributes keeps the terminal's Ctrl-C from a process.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
