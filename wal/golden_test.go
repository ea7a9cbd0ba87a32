package wal_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/vfs/simdisk"
	"github.com/turnlog/turnlog/wal"
)

var update = flag.Bool("update", false, "rewrite testdata")

// goldenLog makes the same log each time, and says what is in it.
func goldenLog(t *testing.T) (*simdisk.Disk, model) {
	r := rand.New(rand.NewPCG(1, 2))
	disk := simdisk.New()
	opts := simOptions(disk)
	opts.Rand = random{r}
	l, err := wal.Open(simDir, opts)
	if err != nil {
		t.Fatal(err)
	}
	var m model
	for _, n := range []int{1, 3, 20} {
		b := records(max(1000, m.next), n, 200+n)
		mustAppend(t, l, b)
		m = m.append(b)
	}
	for range 2 {
		b := records(m.next, 1, 5000)
		mustAppend(t, l, b)
		m = m.append(b)
	}
	if err := errors.Join(l.TruncateBefore(1002), l.TruncateAfter(1024), l.Maintain(), l.Close()); err != nil {
		t.Fatal(err)
	}
	return disk, m.truncateBefore(1002).truncateAfter(1024)
}

// newer makes a file that only its first 16 bytes describe: version 2, and the rest unknown.
func newer(magic string) []byte {
	return append(formatPreamble(magic, 2), bytes.Repeat([]byte{0xd2}, 16<<10-16)...)
}

// TestGolden holds the program against a log that is in the repository: it writes the same bytes, and reads them. A
// change of the format needs a new version, a new folder beside v1, and v1 must still be read.
func TestGolden(t *testing.T) {
	disk, m := goldenLog(t)
	names, err := disk.List(simDir)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]byte{
		"newer-manifest/manifest":                newer("turnlog\n"),
		"newer-segment/00000000000000000002.seg": newer("turnseg\n"),
	}
	for _, name := range names {
		written["v1/"+name] = readFile(t, disk, simDir+"/"+name)
	}
	for name, b := range written {
		file := filepath.Join("testdata", name)
		if *update {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, b, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(golden, b) {
			t.Errorf("%s: the program writes other bytes now", name)
		}
	}
	l := openCopy(t, "v1")
	if d := m.diff(l); d != "" {
		t.Error(d)
	}
	b := records(m.next, 1, 100)
	mustAppend(t, l, b)
	if d := m.append(b).diff(l); d != "" {
		t.Error(d)
	}
}

// copyGolden copies folders of testdata over one another.
func copyGolden(t *testing.T, folders ...string) string {
	dir := t.TempDir()
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("testdata/%s: %v", folder, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func openCopy(t *testing.T, folders ...string) *wal.Log {
	l, err := wal.Open(copyGolden(t, folders...), wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestNewer opens what a later version left: refused with its own error, and not one byte is changed.
func TestNewer(t *testing.T) {
	for _, folder := range []string{"newer-manifest", "newer-segment"} {
		t.Run(folder, func(t *testing.T) {
			dir := copyGolden(t, "v1", folder)
			before := readFolder(t, dir)
			_, err := wal.Open(dir, wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
			var corrupt *wal.CorruptError
			if !errors.Is(err, wal.ErrNewer) || errors.As(err, &corrupt) {
				t.Fatalf("open: %v", err)
			}
			if _, err := wal.Verify(dir, wal.Options{}); !errors.Is(err, wal.ErrNewer) {
				t.Fatalf("verify: %v", err)
			}
			for name, b := range readFolder(t, dir) {
				if old, ok := before[name]; name != "lock" && (!ok || !bytes.Equal(old, b)) {
					t.Fatalf("%s was changed", name)
				}
			}
		})
	}
}

func readFolder(t *testing.T, dir string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, file := range files {
		if content[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

// TestInspect holds what people are shown of the golden log against a file.
func TestInspect(t *testing.T) {
	for name, show := range map[string]wal.InspectOptions{
		"inspect.txt":         {},
		"inspect-batches.txt": {Batches: true},
		"inspect-records.txt": {Records: true, From: 1002, To: 1004,
			Describe: func(r wal.Record) string { return string(r.Data[:9]) }},
	} {
		var out strings.Builder
		if err := wal.Inspect("testdata/v1", wal.Options{}, &out, show); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(golden) {
			t.Errorf("%s should be\n%s\nand is\n%s", name, golden, out.String())
		}
	}
}

// TestVerifyBesideRunningLog verifies a log again and again while it is appended to, truncated and recycled.
func TestVerifyBesideRunningLog(t *testing.T) {
	dir := t.TempDir()
	l, err := wal.Open(dir, wal.Options{SegmentBytes: 16 << 10, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			next := max(1, l.NextIndex())
			err := errors.Join(l.Append(records(next, 3, 500)), l.TruncateAfter(next+1),
				l.TruncateBefore(max(1, l.IndexForTail(50<<10))))
			if err != nil {
				done <- err
				return
			}
		}
	}()
	var corrupt *wal.CorruptError
	settled := 0
	for range 200 {
		switch _, err := wal.Verify(dir, wal.Options{}); {
		case err == nil:
			settled++
		case errors.As(err, &corrupt) && !strings.Contains(err.Error(), "changing too fast"):
			t.Errorf("verify: %v", err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if settled < 100 {
		t.Errorf("only %d of 200 attempts came to a result", settled)
	}
}
