package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestPackagesHaveTheVersionOfTheBinary: every package has what VERSION says.
func TestPackagesHaveTheVersionOfTheBinary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, versionFile))
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	for _, place := range versionPlaces() {
		text, err := os.ReadFile(filepath.Join(root, place.file))
		if err != nil {
			t.Fatal(err)
		}
		all := place.pattern.FindAllSubmatch(text, -1)
		if len(all) == 0 {
			t.Errorf("%s: nothing matches %s", place.file, place.pattern)
		}
		for _, found := range all {
			if got := string(found[1]); got != place.form(version) {
				t.Errorf("%s has %s, want %s: go run ./test/release --set-version %s", place.file, got,
					place.form(version), version)
			}
		}
	}
}

func TestSetVersion(t *testing.T) {
	dir := t.TempDir()
	for _, place := range versionPlaces() {
		text, err := os.ReadFile(filepath.Join(root, place.file))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, place.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := setVersion(dir, "7.8.9-rc.2"); err != nil {
		t.Fatal(err)
	}
	for _, place := range versionPlaces() {
		text, err := os.ReadFile(filepath.Join(dir, place.file))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(place.pattern.FindSubmatch(text)[1]), place.form("7.8.9-rc.2"); got != want {
			t.Errorf("%s has %s, want %s", place.file, got, want)
		}
	}
	if err := checkVersion(dir, "v7.8.9-rc.2"); err != nil {
		t.Error(err)
	}
	if err := checkVersion(dir, "v7.8.9"); err == nil {
		t.Error("a release is built of packages of another version")
	}
	if err := checkVersion(dir, "v7.8.9-rc.2-5-gabcdef"); err != nil {
		t.Errorf("a build between releases: %v", err)
	}
	for version, tag := range map[string]string{"7.8.9": "v7.8.9", "7.8.9-rc.2": "v7.8.9-rc.2", "V7.8.9": "v7.8.9"} {
		if err := checkVersion(dir, version); err == nil || !strings.Contains(err.Error(), "write "+tag) {
			t.Errorf("%s: got %v", version, err)
		}
	}
	for _, trial := range []string{"1234567", "1234567-dirty", "dev", "v0.0.0-check"} {
		if err := checkVersion(dir, trial); err != nil {
			t.Errorf("%s: %v", trial, err)
		}
	}
	if err := setVersion(dir, "v7.8"); err == nil {
		t.Error("v7.8 is taken for a version")
	}
}

func TestMavenVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.1.0": "0.1.0", "0.1.0-dev.0": "0.1.0-SNAPSHOT", "0.1.0-rc.1": "0.1.0-rc.1"} {
		if got := mavenVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.1.0": "0.1.0", "0.1.0-dev.0": "0.1.0.dev0", "0.1.0-rc.1": "0.1.0rc1",
		"1.0.0-alpha.2": "1.0.0a2", "1.0.0-beta.3": "1.0.0b3"} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}
