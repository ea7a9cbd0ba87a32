package simdisk_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

// written makes a disk on which /f holds n durable sectors of 'a' and, not synced, the same number of 'b' in their
// place.
func written(t *testing.T, n int) (*simdisk.Disk, vfs.File) {
	t.Helper()
	d := simdisk.New()
	f, err := d.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	must(t, write(f, 'a', n), f.Sync(), d.SyncDir("/"), write(f, 'b', n))
	return d, f
}

func write(f vfs.File, b byte, sectors int) error {
	_, err := f.WriteAt(bytes.Repeat([]byte{b}, sectors*simdisk.SectorSize), 0)
	return err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// sectors returns one letter for each sector of a file.
func sectors(t *testing.T, d *simdisk.Disk, name string) string {
	t.Helper()
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		must(t, err)
	}
	letters := ""
	for i := 0; i < len(b); i += simdisk.SectorSize {
		letters += string(b[i])
	}
	return letters
}

func TestCrash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d, f := written(t, 4)
	for _, c := range []struct {
		policy simdisk.Policy
		want   []string // any of them
	}{
		{simdisk.LoseAll, []string{"aaaa"}},
		{simdisk.KeepAll, []string{"bbbb"}},
		{simdisk.KeepPrefix, []string{"aaaa", "baaa", "bbaa", "bbba", "bbbb"}},
		{simdisk.KeepSuffix, []string{"aaaa", "aaab", "aabb", "abbb", "bbbb"}},
		{simdisk.KeepMost, []string{"abbb", "babb", "bbab", "bbba", "bbbb"}},
		{simdisk.Choose("first and last", func(c simdisk.Change) bool { return c.At%3 == 0 }), []string{"baab"}},
	} {
		seen := map[string]bool{}
		for range 200 {
			seen[sectors(t, d.Crash(c.policy, r), "/f")] = true
		}
		for _, w := range c.want {
			if !seen[w] {
				t.Errorf("%s: never %s", c.policy.Name, w)
			}
			delete(seen, w)
		}
		if len(seen) > 0 {
			t.Errorf("%s: also %v", c.policy.Name, seen)
		}
	}
	if got := sectors(t, d, "/f"); got != "bbbb" {
		t.Errorf("crashes of copies changed the disk: %s", got)
	}
	must(t, f.Sync())
	if got := sectors(t, d.Crash(simdisk.LoseAll, r), "/f"); got != "bbbb" {
		t.Errorf("after a sync: %s", got)
	}
}

func TestFolders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d, f := written(t, 1)
	must(t, f.Sync(), d.Rename("/f", "/g"))
	g, err := d.Create("/h")
	must(t, err, write(g, 'h', 1), g.Sync())
	check := func(d *simdisk.Disk, f, g, h string) {
		t.Helper()
		for name, want := range map[string]string{"/f": f, "/g": g, "/h": h} {
			if got := sectors(t, d, name); got != want {
				t.Errorf("%s: %s, and not %s", name, got, want)
			}
		}
	}
	check(d, "missing", "b", "h")
	check(d.Crash(simdisk.LoseAll, r), "b", "missing", "missing")
	check(d.Crash(simdisk.KeepAll, r), "missing", "b", "h")
	killed := d.Kill()
	check(killed, "missing", "b", "h")
	check(killed.Crash(simdisk.LoseAll, r), "b", "missing", "missing")
	must(t, killed.SyncDir("/"))
	check(killed.Crash(simdisk.LoseAll, r), "missing", "b", "h")
	check(d.Crash(simdisk.LoseAll, r), "b", "missing", "missing")
	must(t, d.SyncDir("/"), d.Remove("/h"))
	check(d, "missing", "b", "missing")
	check(d.Crash(simdisk.LoseAll, r), "missing", "b", "h")
}

func TestFailedSyncLosesPages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d, f := written(t, 2)
	d.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Sync {
			return syscall.EIO
		}
		return nil
	})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.Fail(nil)
	must(t, f.Sync()) // "succeeds", as it does in a kernel
	if got := sectors(t, d, "/f"); got != "bb" {
		t.Errorf("readers see %s", got)
	}
	if got := sectors(t, d.Crash(simdisk.KeepAll, r), "/f"); got != "aa" {
		t.Errorf("the disk has %s", got)
	}
}

func TestCapacity(t *testing.T) {
	d := simdisk.New()
	d.SetCapacity(4 * simdisk.SectorSize)
	f, err := d.Create("/f")
	must(t, err, f.Allocate(3*simdisk.SectorSize), write(f, 'a', 3))
	if err := write(f, 'b', 5); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("five sectors on a disk of four: %v", err)
	}
	if err := f.Allocate(5 * simdisk.SectorSize); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("five sectors on a disk of four: %v", err)
	}
	if got := sectors(t, d, "/f"); got != "aaa" {
		t.Fatalf("a refused write changed the file: %s", got)
	}
	must(t, d.Remove("/f"))
	g, err := d.Create("/g")
	must(t, err, write(g, 'g', 4))
}

func TestDamage(t *testing.T) {
	d, f := written(t, 2)
	d.Fail(func(op simdisk.Op) error {
		if op.Kind == simdisk.Write {
			return &simdisk.ShortWrite{N: simdisk.SectorSize, Err: syscall.EIO}
		}
		return nil
	})
	if err := write(f, 'c', 2); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.Fail(nil)
	if got := sectors(t, d, "/f"); got != "cb" {
		t.Fatalf("after a short write: %s", got)
	}
	must(t, f.Sync(), d.Rot("/f", simdisk.SectorSize, 'b'^'z'))
	if got := sectors(t, d.Kill(), "/f"); got != "cz" {
		t.Fatalf("after rot: %s", got)
	}
	must(t, d.Cut("/f", simdisk.SectorSize))
	if got := sectors(t, d, "/f"); got != "c" {
		t.Fatalf("after a cut: %s", got)
	}
	must(t, d.Delete("/f"))
	if got := sectors(t, d.Crash(simdisk.LoseAll, rand.New(rand.NewPCG(1, 1))), "/f"); got != "missing" {
		t.Fatalf("after deletion: %s", got)
	}
}

func TestLock(t *testing.T) {
	d := simdisk.New()
	lock, err := d.Lock("/lock")
	must(t, err)
	if _, err := d.Lock("/lock"); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatal(err)
	}
	if _, err := d.Kill().Lock("/lock"); err != nil {
		t.Fatalf("the lock of a dead process: %v", err)
	}
	must(t, lock.Close())
	_, err = d.Lock("/lock")
	must(t, err)
}

// A power cut decides about names first, then about what is in the files.
func TestCrashOfFoldersAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d, f := written(t, 2)
	must(t, write(f, 'c', 1), d.Rename("/f", "/g"), d.Rename("/g", "/h"))
	if files, folder := d.Unsynced("/h"), d.Unsynced("/"); files != 2 || folder != 2 {
		t.Fatalf("%d writes and %d names are not synced", files, folder)
	}
	first := simdisk.Choose("the first", func(c simdisk.Change) bool { return c.At == 0 })
	named := d.CrashFolders(func(string) simdisk.Policy { return first }, r)
	if files, folder := named.Unsynced("/g"), named.Unsynced("/"); files != 2 || folder != 0 {
		t.Fatalf("%d writes and %d names are not synced after the folder has crashed", files, folder)
	}
	for want, keep := range map[string]func(simdisk.Change) bool{
		"ba": func(c simdisk.Change) bool { return c.Write == 0 && c.Sector == 0 },
		"ab": func(c simdisk.Change) bool { return c.Sector == 1 },
		"ca": func(c simdisk.Change) bool { return c.Write == 1 },
	} {
		if got := sectors(t, named.Crash(simdisk.Choose(want, keep), r), "/g"); got != want {
			t.Errorf("%s, and not %s", got, want)
		}
	}
}

// CopyOut leaves holes, and what is beyond a file's end, out.
func TestCopyOut(t *testing.T) {
	d := simdisk.New()
	must(t, d.MkdirAll("/a/b"))
	f, err := d.Create("/a/b/f")
	must(t, err, write(f, 'a', 2), d.Extend("/a/b/f", 10*simdisk.SectorSize))
	_, err = f.WriteAt([]byte("end"), 12*simdisk.SectorSize)
	must(t, err)
	root := t.TempDir()
	must(t, d.CopyOut(root))
	got, err := os.ReadFile(root + "/a/b/f")
	must(t, err)
	want := append(bytes.Repeat([]byte("a"), 2*simdisk.SectorSize), make([]byte, 10*simdisk.SectorSize)...)
	if !bytes.Equal(got, append(want, "end"...)) {
		t.Errorf("%d bytes: %q", len(got), bytes.ReplaceAll(got, make([]byte, simdisk.SectorSize), []byte(".")))
	}
}
