package main

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the nodes, since dev stops them
// itself, and ends them should dev be killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
