package cluster

import "syscall"

// childAttributes puts a node into a process group of its own, so that Ctrl-C
// reaches the tester alone, and has it killed if the tester dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
