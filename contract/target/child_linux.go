package target

import "syscall"

// childAttributes keeps the terminal's Ctrl-C from a process, and ends it should
// the suite be killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
