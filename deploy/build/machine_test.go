package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// require skips a test unless `make packages-os` runs it, as root on Linux, with what it needs installed.
func require(t *testing.T) (binary string) {
	t.Helper()
	if os.Getenv("TURNLOG_REQUIRE_MACHINES") != "1" {
		t.Skip("NOT TESTED: packages on machines; `make packages-os` does")
	}
	if os.Getuid() != 0 {
		t.Fatal("machines are made of namespaces, which takes root")
	}
	return os.Getenv("TURNLOG_BINARY")
}

// A machine is a set of namespaces in which systemd is the first process. Its files are those of this
// machine, and changes of them are its own.
type machine struct {
	t    *testing.T
	init int    // systemd's process
	kill func() // as a loss of power does
}

func startMachine(t *testing.T) *machine {
	t.Helper()
	script, err := filepath.Abs("testdata/machine.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork",
		"--kill-child=KILL", "sh", script, t.TempDir())
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(kill)
	m := &machine{t: t, init: child(t, cmd.Process.Pid), kill: kill}
	m.until("systemd runs", func() bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", m.init))
		if err != nil {
			t.Fatal("the machine has ended: ", err)
		}
		return string(comm) == "systemd\n"
	})
	m.until("it has started", func() bool {
		out, _ := m.try("systemctl is-system-running")
		return strings.HasPrefix(out, "running") || strings.HasPrefix(out, "degraded")
	})
	return m
}

// child returns the one child of a process.
func child(t *testing.T, of int) (pid int) {
	t.Helper()
	until(t, "a child process", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", of, of))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Sscan(string(text), &pid)
		return err == nil
	})
	return pid
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a minute passed without: %s", what)
		}
	}
}

func (m *machine) until(what string, is func() bool) { m.t.Helper(); until(m.t, what, is) }

// try runs a shell script on the machine, as root.
func (m *machine) try(script string) (output string, err error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute) // scripts wait in loops
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target", fmt.Sprint(m.init), "--mount", "--uts", "--ipc",
		"--net", "--pid",
		"--cgroup", "--root", "--wdns=/root", "sh", "-euc", script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run is try for a script that must end with status 0.
func (m *machine) run(script string) string {
	m.t.Helper()
	out, err := m.try(script)
	if err != nil {
		log, _ := m.try("journalctl --sync; journalctl --no-pager -o cat -n 20; systemctl --no-pager status 'turnlog*'")
		m.t.Fatalf("%s\n%v: %s\nthe journal, and the units:\n%s", script, err, out, log)
	}
	return strings.TrimSpace(out)
}

// is demands that a script prints what is wanted.
func (m *machine) is(script, want string) {
	m.t.Helper()
	if got := m.run(script); got != want {
		m.t.Errorf("%s\nprints %q, not %q", script, got, want)
	}
}

// put copies a file into the machine's /root.
func (m *machine) put(file string) {
	m.t.Helper()
	to := fmt.Sprintf("/proc/%d/root/root/%s", m.init, filepath.Base(file))
	if out, err := exec.Command("cp", file, to).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}
