package auth

import (
	"os"
	"path/filepath"
	"testing"
)

// Others may read nothing, and the group only what root made for it.
func TestForGroup(t *testing.T) {
	const root, node, other = 0, 65532, 1000
	for _, x := range []struct {
		owner, group, uid, gid int
		want                   bool
	}{
		{root, node, node, node, true},
		{node, node, node, node, false}, // its owner could have kept it to itself
		{other, node, node, node, false},
		{root, other, node, node, false},
		{root, root, node, root, false},
		{root, root, root, root, false},
		{root, node, root, node, false},
	} {
		if got := forGroup(x.owner, x.group, x.uid, x.gid); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// A file that others can read or write, or a group can write, is not private, whichever user owns it.
func TestPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o602: false,
		0o660: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if Private(info) != want {
			t.Errorf("%v: %v", mode, !want)
		}
	}
}
