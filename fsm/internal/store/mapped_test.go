package store

import (
	"os"
	"path/filepath"
	"testing"
)

// A store whose file is large can grow by as much again while it is read, once it was opened: a backup of it begins.
func TestLargeFileCanGrow(t *testing.T) {
	o := Options{Disk: OSDisk{}, Dir: t.TempDir(), CacheBytes: 1 << 20}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if left := s.MapLeft(); left < 63<<30 {
		t.Errorf("a new file can grow by %d MiB", left>>20)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const size = 61 << 30
	if err := os.Truncate(filepath.Join(o.Dir, storeName), size); err != nil { // it has holes, and takes no space
		t.Skipf("NOT TESTED: this disk has no room for a file of %d GiB with holes: %v", size>>30, err)
	}
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if left := s.MapLeft(); left < size {
		t.Errorf("a file of %d GiB can grow by %d MiB", size>>30, left>>20)
	}
}
