package testcluster

import "syscall"

// ChildAttributes puts a process into a group of its own, so that Ctrl-C reaches this
// one alone, and has it get a signal if this one dies.
func ChildAttributes(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
}
