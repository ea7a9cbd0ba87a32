package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that was left is so to a start and to a recovery alike, also if what it says is lost.
func TestLeftDirectory(t *testing.T) {
	for what, leave := range map[string]func(dir string) error{
		"marked":         func(dir string) error { return Leave(dir, "new-n1") },
		"an empty mark":  func(dir string) error { return os.WriteFile(filepath.Join(dir, LeftName), nil, 0o600) },
		"an unread mark": func(dir string) error { return os.Mkdir(filepath.Join(dir, LeftName), 0o700) },
	} {
		dir := t.TempDir()
		if why, err := LeftFor(dir); why != "" || err != nil || MayStart(dir) != nil {
			t.Fatalf("a new directory was left: %q, %v, %v", why, err, MayStart(dir))
		}
		if err := leave(dir); err != nil {
			t.Fatal(err)
		}
		err := MayStart(dir)
		if err == nil || !strings.Contains(err.Error(), LeftName) {
			t.Errorf("%s: a node may start: %v", what, err)
		}
		why, err := LeftFor(dir)
		if why == "" && err == nil || what == "marked" && !strings.Contains(why, "new-n1") {
			t.Errorf("%s: a recovery is told %q, %v", what, why, err)
		}
	}
}

// A directory is claimed once, and finished before a node starts from it.
func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := Claim(dir); err != nil {
		t.Fatal(err)
	}
	if err := Claim(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("it is claimed again: %v", err)
	}
	if err := MayStart(dir); err == nil || !strings.Contains(err.Error(), UnfinishedName) {
		t.Errorf("an unfinished directory: %v", err)
	}
	if err := Finish(dir); err != nil {
		t.Fatal(err)
	}
	if err := MayStart(dir); err != nil {
		t.Errorf("a finished directory: %v", err)
	}
}
