package raftstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/internal/identity"
	"github.com/turnlog/turnlog/internal/smallfile"
	"github.com/turnlog/turnlog/internal/vote"
)

// A node whose identity is gone from both copies is not given a new one while it has
// a vote to remember.
func TestIdentityIsNotInvented(t *testing.T) {
	dir := t.TempDir()
	if _, err := identity.Open(dir, "n1", reseed, testLogger()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, identity.FileName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(smallfile.SecondCopy(path), 20); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Open(dir, "n1", reseed, testLogger()); err == nil || !strings.Contains(err.Error(), reseed) {
		t.Errorf("one copy is missing, the other damaged: %v", err)
	}
	if err := checkTermKept(dir); err == nil || !strings.Contains(err.Error(), vote.FileName) {
		t.Errorf("term and vote are missing, and so is the first copy of the identity: %v", err)
	}
	if err := os.Remove(smallfile.SecondCopy(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := checkTermKept(dir); err != nil {
		t.Errorf("a new directory: %v", err)
	}
}
