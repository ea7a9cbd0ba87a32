package raftstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/datadir"
	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/smallfile"
)

// A node whose identity is gone from both copies is not given a new one while it has
// a vote to remember.
func TestIdentityIsNotInvented(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.Open(dir, "n1", datadir.Reseed, testLogger()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, identity.FileName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(smallfile.SecondCopy(path), 20); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Open(dir, "n1", datadir.Reseed, testLogger()); err == nil ||
		!strings.Contains(err.Error(), datadir.Reseed) {
		t.Errorf("one copy is missing, the other damaged: %v", err)
	}
	if known, err := identity.Exists(dir); !known || err != nil {
		t.Errorf("the first copy of the identity is missing: a member, %v, %v", known, err)
	}
	if err := os.Remove(smallfile.SecondCopy(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if known, err := identity.Exists(dir); known || err != nil {
		t.Errorf("a new directory: a member, %v, %v", known, err)
	}
}
