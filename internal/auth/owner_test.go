package auth

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Who edits users as root leaves the file to the user whom the node runs as, who could not read it otherwise.
func TestEditingKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "users.yaml")
	add := func(name string) {
		t.Helper()
		d, err := Edit(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Add(User{Name: name, Right: Read, Namespaces: []string{"0"}}, cheap("s")); err != nil {
			t.Fatal(err)
		}
		if err := d.Save(); err != nil {
			t.Fatal(err)
		}
	}
	add("one")
	const service = 65534
	if err := os.Chown(path, service, service); err != nil {
		t.Fatal(err)
	}
	add("two")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != service || s.Gid != service || info.Mode().Perm() != 0o600 {
		t.Errorf("the file belongs to %d:%d, mode %v", s.Uid, s.Gid, info.Mode())
	}
}
