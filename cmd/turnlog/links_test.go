package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModules: a module that comes into the binary is a decision, which this file's testdata records:
// what only tests need stays out. With -update it is written.
func TestModules(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // wherever the test runs
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	const recorded = "testdata/modules.txt"
	if *update {
		if err := os.WriteFile(recorded, []byte(strings.Join(modules, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(text))
	for _, m := range modules {
		if !slices.Contains(want, m) {
			t.Errorf("%s is linked, and %s does not have it", m, recorded)
		}
	}
	for _, m := range want {
		if !slices.Contains(modules, m) {
			t.Errorf("%s is no longer linked, and %s has it", m, recorded)
		}
	}
}

// TestLinkerDropsMethods: code that calls methods by names which only a run knows, as text/template does,
// makes the linker keep every exported method of every type. That is a third of the binary.
func TestLinkerDropsMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("links the binary once more")
	}
	t.Parallel()
	link := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-dumpdep",
		"-o", filepath.Join(t.TempDir(), "turnlog"), ".")
	out, err := link.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	edges := 0
	for edge := range strings.Lines(string(out)) {
		from, to, isEdge := strings.Cut(strings.TrimSpace(edge), " -> ")
		if isEdge {
			edges++
		}
		if strings.HasSuffix(to, "<ReflectMethod>") {
			t.Errorf("%s needs %s", from, to)
		}
	}
	if edges < 10_000 {
		t.Errorf("the linker names only %d references", edges)
	}
}
