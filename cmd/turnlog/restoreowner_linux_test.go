package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What root restores can be opened by the user of the node, to whom the directory belongs, or the one that it is in.
func TestRestoreGivesToTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "hello")
	file := filepath.Join(t.TempDir(), "file.tlb")
	n.ok("backup", file)
	const service = 65534
	parent := t.TempDir()
	there := filepath.Join(parent, "there")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{parent, there} {
		if err := os.Chown(dir, service, service); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{there, filepath.Join(parent, "new")} {
		n.ok("restore", file, "--data-dir", dir)
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if s := info.Sys().(*syscall.Stat_t); s.Uid != service || s.Gid != service {
				t.Errorf("%s belongs to %d:%d", path, s.Uid, s.Gid)
			}
			files++
			return nil
		})
		if err != nil || files < 3 {
			t.Errorf("%s: %d files, %v", dir, files, err)
		}
	}
}
