package auth

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A process of another user than root takes the file that root made for its group, as Kubernetes mounts secrets, and
// no file of another mode or group.
func TestPrivateForAGroup(t *testing.T) {
	const id = 65532
	if file := os.Getenv("TEST_PRIVATE_FILE"); file != "" {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if !Private(info) {
			t.Fatal("not private")
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		mode       os.FileMode
		owner, gid int
		want       bool
	}{
		{0o440, 0, id, true}, {0o640, 0, id, true}, {0o400, id, id, true},
		{0o444, 0, id, false}, {0o644, 0, id, false}, {0o660, 0, id, false}, {0o650, 0, id, false},
		{0o440, 0, 1000, false}, {0o440, 0, 0, false}, {0o440, id, id, false},
	} {
		if err := os.Chown(file, x.owner, x.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, x.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestPrivateForAGroup$")
		cmd.Env = append(os.Environ(), "TEST_PRIVATE_FILE="+file, "GOCOVERDIR=")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		out, err := cmd.CombinedOutput()
		if _, ended := err.(*exec.ExitError); err != nil && !ended {
			t.Fatal(err)
		}
		if (err == nil) != x.want {
			t.Errorf("%v of %d:%d: %s", x.mode, x.owner, x.gid, out)
		}
	}
}
