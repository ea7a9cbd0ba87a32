//go:build !linux

package main

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the nodes: dev stops them itself.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
