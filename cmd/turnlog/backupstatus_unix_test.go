//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// A backup whose rotation fails does not look like one where all is well: the folder would fill up unnoticed.
func TestBackupWhoseRotationFails(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "hello")
	dir, metrics := t.TempDir(), filepath.Join(t.TempDir(), "backup.prom")
	n.ok("backup", dir, "--keep", "1")
	if err := syscall.Mkfifo(filepath.Join(dir, "turnlog-unreadable.tlb"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := n.run("backup", dir, "--keep", "1", "--metrics-file", metrics)
	if r.status != cli.ExitFailed || !strings.Contains(r.stderr, "was written and is whole, but") ||
		!strings.Contains(r.stderr, "turnlog-unreadable.tlb") || !strings.Contains(r.stdout, dir) {
		t.Errorf("%+v", r)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "turnlog-2*.tlb")); err != nil || len(all) != 2 {
		t.Errorf("the folder has %v, %v; want both backups", all, err)
	}
	if found, _ := filepath.Glob(metrics); len(found) != 0 {
		t.Error("the metrics tell of a success")
	}
}

// A backup that rests on a damaged pack is not called whole, and the older ones stay.
func TestBackupOnADamagedPack(t *testing.T) {
	t.Parallel()
	n := startNode(t, t.TempDir())
	n.ok("append", "alice", "hello")
	dir := t.TempDir()
	n.ok("backup", dir, "--incremental")
	packs, err := filepath.Glob(filepath.Join(dir, "packs", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	text, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(packs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := n.run("backup", dir, "--incremental", "--keep", "1")
	if r.status == 0 || !strings.Contains(r.stderr, "do not rely on the new backup; older ones were kept") ||
		strings.Contains(r.stderr, "whole, but") {
		t.Errorf("%+v", r)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "turnlog-2*.tli")); err != nil || len(all) != 2 {
		t.Errorf("the folder has %v, %v; want both backups", all, err)
	}
}
