package testcluster

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a node that runs a shell command in place of the binary.
func shell(t *testing.T, command string) *Node {
	dir := t.TempDir()
	n := &Node{ID: "n1", Dir: dir, Log: filepath.Join(dir, "log"), Within: []string{"sh", "-c", command}}
	n.Use("turnlog")
	t.Cleanup(func() { n.Kill() })
	return n
}

func start(t *testing.T, n *Node) {
	t.Helper()
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
}

const forever = "exec sleep 1000"

// TestExpectedEnds: what the owner ends is no death, and can be started again.
func TestExpectedEnds(t *testing.T) {
	n := shell(t, forever)
	for i, end := range []func() error{
		n.Kill,
		func() error {
			if err := n.Stop(time.Minute); err == nil ||
				!strings.Contains(err.Error(), "n1 stopped with signal: terminated") {
				t.Errorf("stopped: %v", err)
			}
			return nil
		},
		func() error {
			n.Expect(true)
			exited := n.Exited()
			err := syscall.Kill(n.PID(), syscall.SIGKILL)
			<-exited
			return err
		},
	} {
		start(t, n)
		if !n.Running() || !n.Healthy() || n.PID() == 0 || n.Starts() != i+1 || n.Start() == nil {
			t.Errorf("running %v, healthy %v, process %d, start %d", n.Running(), n.Healthy(), n.PID(), n.Starts())
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if n.Running() || n.PID() != 0 || n.Died() != nil || len(n.Deaths()) > 0 || n.Kill() == nil {
			t.Errorf("running %v, process %d, died: %v, deaths: %q", n.Running(), n.PID(), n.Died(), n.Deaths())
		}
	}
}

// TestDeaths: the owner learns that the process has ended, how, and what it wrote last.
func TestDeaths(t *testing.T) {
	n := shell(t, "echo disk gone; exit 3")
	start(t, n)
	if err := n.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "n1 has ended (exit status 3)") ||
		!strings.HasSuffix(err.Error(), "\ndisk gone") {
		t.Errorf("waiting for it: %v", err)
	}
	if d := n.Deaths(); len(d) != 1 || d[0] != "n1 ended by itself in start 1: exit status 3" {
		t.Errorf("deaths %q", d)
	}
	n.Within = []string{"sh", "-c", forever}
	start(t, n)
	if err := n.Died(); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// TestPaused: a paused node runs and is not healthy.
func TestPaused(t *testing.T) {
	n := shell(t, forever)
	start(t, n)
	if err := n.Pause(); err != nil || !n.Running() || n.Healthy() {
		t.Errorf("paused: %v; running %v, healthy %v", err, n.Running(), n.Healthy())
	}
	if err := n.Resume(); err != nil || !n.Healthy() {
		t.Errorf("resumed: %v; healthy %v", err, n.Healthy())
	}
}

// TestStopKills: a process that does not stop is killed.
func TestStopKills(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.01; done")
	p, err := StartProcess("deaf", filepath.Join(t.TempDir(), "log"), cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := Until(t.Context(), "it ignores the signal", func() bool { return p.LastLines() == "deaf" }); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Millisecond); err == nil || err.Error() != "deaf did not stop within 1ms" {
		t.Errorf("stopped: %v", err)
	}
	if o := p.Outcome(); o != "signal: killed" {
		t.Errorf("it has ended: %s", o)
	}
}
