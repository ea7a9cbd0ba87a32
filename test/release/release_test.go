package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n" +
		"## [0.2.0] - 2026-12-01\n\n### Added\n\n- b\n\n## [0.1.0]\n- a\n"
	tests := map[string]struct{ version, want, fails string }{
		"first":      {"v0.1.0", "# turnlog v0.1.0\n\n- a\n", ""},
		"second":     {"v0.2.0", "# turnlog v0.2.0\n\n### Added\n\n- b\n", ""},
		"unknown":    {"v0.3.0", "", "no section [0.3.0]"},
		"candidate":  {"v0.3.0-rc.1", "", "no section [0.3.0-rc.1]"},
		"unreleased": {"v0.2.0-5-gabcdef", "", "nothing of [Unreleased]"},
	}
	for name, test := range tests {
		got, err := notesOf(changelog, test.version)
		if got != test.want || (err == nil) != (test.fails == "") ||
			err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestNotesOfThisTree: what is built today has notes.
func TestNotesOfThisTree(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := notesOf(string(text), "dev"); err != nil {
		t.Error(err)
	}
}

func TestSBOM(t *testing.T) {
	text, err := describe(&debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "m"}, Deps: []*debug.Module{
		{Path: "a/b", Version: "v1.0.0+incompatible", Sum: "h1:AAEC"},
		{Path: "old", Version: "v1.0.0", Replace: &debug.Module{Path: "new", Version: "v2.0.0"}},
	}}, "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, c := range append([]component{b.Metadata.Component}, b.Components...) {
		list = append(list, c.PURL)
	}
	const want = "pkg:golang/m@v0.1.0 pkg:golang/std@1.26.8 pkg:golang/a/b@v1.0.0%2Bincompatible pkg:golang/new@v2.0.0"
	if got := strings.Join(list, " "); got != want {
		t.Errorf("lists %s, want %s", got, want)
	}
	if h := b.Components[1].Hashes; len(h) != 1 || h[0].Content != "000102" {
		t.Errorf("hashes %v", h)
	}
}

// TestOwnSBOM: a real binary names its modules.
func TestOwnSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(self, "dev")
	if err != nil || !strings.Contains(string(text), `"bomFormat": "CycloneDX"`) {
		t.Errorf("%v: %s", err, text)
	}
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sum(dir, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
