//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A node that is told to read its users again while it starts does so when it has; the
// signal would end any other process.
func TestReloadDuringStart(t *testing.T) {
	s := newSecured(t)
	ports := freePorts(t, 3)
	users := s.file("users.yaml")
	before, err := os.ReadFile(users)
	if err != nil {
		t.Fatal(err)
	}
	s.ok("user", "remove", "bot", "--file", users)
	if err := os.Rename(users, s.file("after.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(users, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"serve", "--resp-addr", ports[0], "--http-addr", ports[1], "--raft-addr", ports[2],
		"--data-dir", s.file("data")}, s.flags("n1")...)
	p := startProcess(t, nil, args...)
	pipe, err := os.OpenFile(users, os.O_WRONLY, 0) // when the node has opened it
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file("after.yaml"), users); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Write(before); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	p.until("read again", func() bool { return strings.Contains(p.text(), "reloaded the users file") })
	if status := s.get("https://"+ports[1]+"/v1/sessions/chat%3A1/messages", "bot", s.passwords["bot"]); status != 401 {
		t.Errorf("who was removed while the node started: status %d", status)
	}
	if status := p.stop(syscall.SIGTERM); status != 0 {
		t.Errorf("status %d", status)
	}
}
