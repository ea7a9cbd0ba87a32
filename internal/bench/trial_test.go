package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// Every session has its turn before one has a second.
func TestInTurn(t *testing.T) {
	for _, sessions := range []int{1, 2, 3, 4, 5, 6, 8, 16, 100, 999, 1000} {
		next := inTurn(sessions, 3*sessions)
		count := make([]int, sessions)
		for i := range 3 * sessions {
			s, more := next(nil)
			if count[s]++; !more || count[s] != i/sessions+1 {
				t.Fatalf("%d sessions: operation %d is the %d. of session %d, more %v", sessions, i, count[s], s, more)
			}
		}
		if _, more := next(nil); more {
			t.Errorf("%d sessions: no end", sessions)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		v    Verdict
		met  bool
		says string
	}{
		{atMost("", 3, 3), true, "met"},
		{atMost("", 3, 6), false, "falls short by 100 %"},
		{atMost("", 3, 0), false, "was not measured"},
		{atLeast("", 0.9, 0.9), true, "met"},
		{atLeast("", 100, 75), false, "falls short by 25 %"},
	} {
		if tt.v.Met != tt.met || tt.v.String() != tt.says {
			t.Errorf("%+v: %s", tt.v, tt.v)
		}
	}
}

func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"state.db": 1 << 20, "wal.txt": 64 << 10, "wal/1": 256 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hole, err := os.Create(filepath.Join(dir, "hole"))
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	if err := hole.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	all, log, err := diskUse(dir, "wal")
	if err != nil || log < 256<<10 || log > 300<<10 || all < 1344<<10 || all > 1500<<10 {
		t.Errorf("%d bytes, %d of them of the log, %v", all, log, err)
	}
}
