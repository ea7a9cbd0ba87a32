package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mounted(t *testing.T) (*Disk, func(string) string) {
	t.Helper()
	dir := t.TempDir()
	d, err := Mount(filepath.Join(dir, "mount"), filepath.Join(dir, "behind"))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return d, func(name string) string { return filepath.Join(dir, "mount", name) }
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// put writes a file as programs do, and syncs it and its folder if asked to.
func put(t *testing.T, path string, content []byte, syncFile, syncEntry bool) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	_, err = f.Write(content)
	must(t, err)
	if syncFile {
		must(t, f.Sync())
	}
	must(t, f.Close())
	if syncEntry {
		syncFolder(t, filepath.Dir(path))
	}
}

func syncFolder(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	must(t, f.Sync(), f.Close())
}

func want(t *testing.T, path string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if content == nil {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %d bytes, %v", path, len(got), err)
		}
		return
	}
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s: %v, %d bytes %.20q, want %d bytes %.20q", path, err, len(got), got, len(content), content)
	}
}

func TestPowerCutLosesWhatWasNotSynced(t *testing.T) {
	d, at := mounted(t)
	old, long := bytes.Repeat([]byte("old."), 3000), bytes.Repeat([]byte("new!"), 5000)
	put(t, at("synced"), old, true, true)
	put(t, at("empty"), old, false, true)
	for _, name := range []string{"written", "grown", "shrunk", "renamed", "removed"} {
		put(t, at(name), old, true, true)
	}
	put(t, at("no-entry"), old, true, false)
	put(t, at("tmp"), long, true, false)
	f, err := os.OpenFile(at("written"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(long[:100], 4000)
	must(t, err, f.Close())
	f, err = os.OpenFile(at("grown"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.Write(long)
	must(t, err, f.Close(), os.Truncate(at("shrunk"), 10), os.Rename(at("tmp"), at("renamed")),
		os.Remove(at("removed")))
	want(t, at("renamed"), long)
	want(t, at("removed"), nil)
	d.Off()
	must(t, d.Cut(Everything, 1))
	for _, name := range []string{"synced", "written", "grown", "shrunk", "renamed", "removed"} {
		want(t, at(name), old)
	}
	want(t, at("no-entry"), nil)
	want(t, at("tmp"), nil)
	want(t, at("empty"), []byte{})
	// And once more, with the folder synced: all of it stays.
	put(t, at("tmp"), long, true, false)
	must(t, os.Rename(at("tmp"), at("renamed")), os.Remove(at("removed")))
	syncFolder(t, at("."))
	d.Off()
	must(t, d.Cut(Everything, 1))
	want(t, at("renamed"), long)
	want(t, at("removed"), nil)
}

func TestPowerCutTearsWrites(t *testing.T) {
	d, at := mounted(t)
	old, long := bytes.Repeat([]byte{1}, 64<<10), bytes.Repeat([]byte{2}, 64<<10)
	torn := 0
	for seed := range uint64(8) {
		put(t, at("f"), old, true, true)
		f, err := os.OpenFile(at("f"), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt(long, 0)
		must(t, err, f.Close())
		d.Off()
		must(t, d.Cut(Some, seed))
		got, err := os.ReadFile(at("f"))
		must(t, err)
		for i := 0; i < len(got); i += sectorSize {
			if !bytes.Equal(got[i:i+sectorSize], old[:sectorSize]) &&
				!bytes.Equal(got[i:i+sectorSize], long[:sectorSize]) {
				t.Fatalf("the sector at %d is neither old nor new", i)
			}
		}
		if n := bytes.Count(got, []byte{2}); n > 0 && n < len(got) {
			torn++
		}
	}
	if torn == 0 {
		t.Error("no write was torn")
	}
}

func TestPowerEndsWhatIsUnderWay(t *testing.T) {
	d, at := mounted(t)
	put(t, at("f"), []byte("old"), true, true)
	f, err := os.OpenFile(at("f"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("new"), 0)
	must(t, err)
	d.Set(Faults{SyncDelay: time.Minute})
	synced := make(chan error, 1)
	go func() { synced <- f.Sync() }()
	d.Off()
	if err := <-synced; !errors.Is(err, syscall.EIO) {
		t.Errorf("a sync without power: %v", err)
	}
	f.Close()
	must(t, d.Cut(Everything, 1))
	want(t, at("f"), []byte("old"))
}

func TestFailedSyncLosesItsPages(t *testing.T) {
	d, at := mounted(t)
	put(t, at("f"), []byte("old"), true, true)
	f, err := os.OpenFile(at("f"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("new"), 0)
	must(t, err)
	d.Set(Faults{Fail: Sync, Path: "f"})
	if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EIO) || d.Failed() == "" {
		t.Fatalf("sync: %v", err)
	}
	must(t, f.Sync(), f.Close()) // says so, and is wrong
	want(t, at("f"), []byte("new"))
	d.Off()
	must(t, d.Cut(Everything, 1))
	want(t, at("f"), []byte("old"))
}

func TestFaults(t *testing.T) {
	d, at := mounted(t)
	put(t, at("f"), make([]byte, 8192), true, true)
	d.Set(Faults{Full: true})
	if err := os.WriteFile(at("g"), []byte("x"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk took a byte: %v", err)
	}
	if err := os.Truncate(at("f"), 1<<20); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk let a file grow: %v", err)
	}
	f, err := os.OpenFile(at("f"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("y"), 8191); err != nil {
		t.Errorf("what a file has already is refused: %v", err)
	}
	var st unix.Statfs_t
	must(t, unix.Statfs(at("."), &st))
	if st.Bavail != 0 {
		t.Errorf("%d blocks are free", st.Bavail)
	}
	d.Set(Faults{Fail: Write})
	if _, err := f.WriteAt([]byte("z"), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("write: %v", err)
	}
	d.Set(Faults{SyncDelay: 50 * time.Millisecond})
	began := time.Now()
	must(t, f.Sync())
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("a slow sync took %v", took)
	}
}

func TestADiskThatLiesAboutSyncs(t *testing.T) {
	d, at := mounted(t)
	old, changed := bytes.Repeat([]byte("old."), 3000), bytes.Repeat([]byte("new!"), 3000)
	put(t, at("file"), old, true, true)
	d.Set(Faults{Lies: true})
	put(t, at("file"), changed, true, true)
	put(t, at("created"), changed, true, true)
	want(t, at("file"), changed)
	d.Off()
	must(t, d.Cut(Everything, 1))
	want(t, at("file"), old)
	want(t, at("created"), nil)
}

func TestReadsThatAreWrong(t *testing.T) {
	d, at := mounted(t)
	content := bytes.Repeat([]byte("good"), 3000)
	put(t, at("file"), content, true, true)
	d.Set(Faults{Flip: true, Path: "file"})
	got, err := os.ReadFile(at("file"))
	must(t, err)
	if len(got) != len(content) || bytes.Equal(got, content) || d.Failed() == "" {
		t.Errorf("%d bytes of %d, equal: %t, failed: %q", len(got), len(content), bytes.Equal(got, content), d.Failed())
	}
	d.Set(Faults{Short: true, Path: "file"})
	got, err = os.ReadFile(at("file"))
	must(t, err)
	if bytes.Equal(got, content) || d.Failed() == "" {
		t.Errorf("of %d bytes, %d were read, failed: %q", len(content), len(got), d.Failed())
	}
	d.Set(Faults{})
	want(t, at("file"), content)
}
