package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// service is the user of a node that root restores.
const service = 65534

// What root restores can be opened by the user of the node, to whom the directory belongs, or the nearest one above it
// that was there before: all that the command makes is given to that user.
func TestRestoreGivesToTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "hello")
	file := filepath.Join(t.TempDir(), "file.tlb")
	n.ok("backup", file)
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
	for dir, made := range map[string]string{"there": "there", "new": "new", "several/new/ones": "several"} {
		n.ok("restore", file, "--data-dir", filepath.Join(parent, dir))
		if files := ofService(t, filepath.Join(parent, made)); files < 3 {
			t.Errorf("%s: %d files", dir, files)
		}
	}
}

// A restore that failed leaves directories that the next one into them, when they were emptied, does not give to root.
func TestRestoreIsRepeatedForTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "hello")
	file := filepath.Join(t.TempDir(), "file.tlb")
	n.ok("backup", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.tlb")
	if err := os.WriteFile(damaged, text[:len(text)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	if err := os.Chown(parent, service, service); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "several", "new")
	if r := n.run("restore", damaged, "--data-dir", dir); r.status == 0 {
		t.Fatal(r)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatal("the restore failed before it wrote")
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	n.ok("restore", file, "--data-dir", dir)
	if files := ofService(t, filepath.Join(parent, "several")); files < 3 {
		t.Errorf("%d files", files)
	}
}

// ofService returns the number of files and directories from dir on, which must all be the service's.
func ofService(t *testing.T, dir string) (files int) {
	t.Helper()
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
	if err != nil {
		t.Error(err)
	}
	return files
}
