package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// The real file system and the simulated one answer alike.
func TestFileSystems(t *testing.T) {
	for name, disk := range map[string]vfs.FS{
		"OS": vfs.OS{}, "OS, early writeback": vfs.OS{EarlyWriteback: true}, "simulated": simdisk.New(),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "folder")
			if _, err := disk.List(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing folder is listed: %v", err)
			}
			must(t, disk.MkdirAll(dir), disk.MkdirAll(dir))
			at := func(name string) string { return filepath.Join(dir, name) }
			checkFile(t, disk, at("c"))
			for _, name := range []string{"b", "a"} {
				f, err := disk.Create(at(name))
				must(t, err, f.Close())
			}
			must(t, disk.SyncDir(dir))
			checkNames(t, disk, dir, "a", "b", "c")
			must(t, disk.Rename(at("c"), at("a")), disk.Remove(at("b")), disk.SyncDir(dir))
			checkNames(t, disk, dir, "a")
			for what, err := range map[string]error{
				"opened": second(disk.Open(at("b"))), "removed": disk.Remove(at("b")),
				"renamed": disk.Rename(at("b"), at("d")),
			} {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a missing file is %s: %v", what, err)
				}
			}
			checkLock(t, disk, at("lock"))
		})
	}
}

// checkFile writes a file and reads it through another descriptor.
func checkFile(t *testing.T, disk vfs.FS, name string) {
	t.Helper()
	f, err := disk.Create(name)
	must(t, err, f.Allocate(5000))
	_, err = f.WriteAt([]byte("text"), 4998)
	must(t, err, f.Sync(), f.Allocate(100), f.Close())
	f, err = disk.Open(name)
	must(t, err)
	defer f.Close()
	if size, err := f.Size(); size != 5002 || err != nil {
		t.Errorf("the file has %d bytes, %v", size, err)
	}
	b := make([]byte, 5)
	if n, err := f.ReadAt(b, 4997); n != 5 || err != nil && !errors.Is(err, io.EOF) ||
		!bytes.Equal(b, []byte("\x00text")) {
		t.Errorf("read %q, %v", b[:n], err)
	}
	if n, err := f.ReadAt(b, 5000); n != 2 || !errors.Is(err, io.EOF) {
		t.Errorf("read %q beyond the end, %v", b[:n], err)
	}
}

func checkNames(t *testing.T, disk vfs.FS, dir string, want ...string) {
	t.Helper()
	if names, err := disk.List(dir); err != nil || !slices.Equal(names, want) {
		t.Errorf("the folder has %q, %v; want %q", names, err, want)
	}
}

func checkLock(t *testing.T, disk vfs.FS, name string) {
	t.Helper()
	lock, err := disk.Lock(name)
	must(t, err)
	if _, err := disk.Lock(name); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("locked twice: %v", err)
	}
	must(t, lock.Close())
	lock, err = disk.Lock(name)
	must(t, err, lock.Close())
}

// A log can be verified without the right to write, so its files must not be opened for that.
func TestOpenReadOnly(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := vfs.OS{}.Create(name)
	must(t, err, f.Close())
	f, err = vfs.OS{OpenReadOnly: true}.Open(name)
	must(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("text"), 0); err == nil {
		t.Error("written")
	}
}

// A file in the place of a folder is an error.
func TestMkdirAllOverAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := vfs.OS{}.Create(name)
	must(t, err, f.Close())
	if err := (vfs.OS{}).MkdirAll(name); err == nil {
		t.Error("a file is taken for a folder")
	}
}

func second(_ vfs.File, err error) error { return err }

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
