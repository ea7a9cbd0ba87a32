package main

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// A network is a switch in a namespace of its own, and hosts, a namespace each.
type network struct {
	t     *testing.T
	at    int // a process in the switch's namespace
	hosts int
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{t: t, at: holder(t)}
	n.ip(n.at, "link add switch type bridge")
	n.ip(n.at, "link set switch up")
	return n
}

// holder starts a process that holds a network namespace open.
func holder(t *testing.T) (pid int) {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "sh", "-c", "echo; exec sleep infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ready, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// host returns the namespace of a new host with an address.
func (n *network) host(addr string) (netns string) {
	pid := holder(n.t)
	n.plug(pid, addr)
	return fmt.Sprintf("/proc/%d/ns/net", pid)
}

// plug connects the namespace of a process to the switch.
func (n *network) plug(pid int, addr string) {
	n.hosts++
	port := fmt.Sprintf("port%d", n.hosts)
	n.ip(n.at, fmt.Sprintf("link add %s type veth peer name eth0 netns %d", port, pid))
	n.ip(n.at, fmt.Sprintf("link set %s master switch up", port))
	n.ip(pid, "addr add "+addr+"/24 dev eth0")
	n.ip(pid, "link set eth0 up")
	n.ip(pid, "link set lo up")
}

func (n *network) ip(pid int, args string) {
	n.t.Helper()
	out, err := exec.Command("sh", "-c",
		fmt.Sprintf("exec nsenter --target %d --net ip %s", pid, args)).CombinedOutput()
	if err != nil {
		n.t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}
