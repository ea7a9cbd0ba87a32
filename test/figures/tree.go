package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A tree is one version of the repository.
type tree struct {
	root     string
	files    []file
	packages []*packages.Package // of the main module, with types, without tests
	module   string
}

// A file is a Go or Markdown file that people wrote.
type file struct {
	name string // from the root, with slashes
	text string
}

type kind int

const (
	product kind = iota
	tests
	judges
)

// judging are the names of directories that hold judges, with all below them.
var judging = []string{
	"adapters", "bench", "cluster-test", "compat", "contract", "faultproxy", "lincheck", "ports", "simdisk", "test",
	"testcluster",
}

// kindOf tells what a Go file or a package's directory is for.
func kindOf(name string) kind {
	if strings.HasSuffix(name, "_test.go") {
		return tests
	}
	dir := name
	if path.Ext(name) == ".go" {
		dir = path.Dir(name)
	}
	for _, part := range strings.Split(dir, "/") {
		if slices.Contains(judging, part) || strings.HasSuffix(part, "test") {
			return judges
		}
	}
	return product
}

func load(root string) (*tree, error) {
	t := &tree{root: root}
	if err := filepath.WalkDir(root, t.add); err != nil {
		return nil, err
	}
	var err error
	// Types are checked from source: nothing is compiled, and without cgo nothing is generated.
	t.packages, err = packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: root,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range t.packages {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, e)
		}
		t.module = p.Module.Path
	}
	if len(t.packages) == 0 {
		return nil, errors.New("no packages")
	}
	return t, nil
}

// skipped are directories that hold no code of people, and what is not to be built.
var skipped = []string{"bin", "node_modules", "testdata"}

func (t *tree) add(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		if name != t.root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name())) {
			return filepath.SkipDir
		}
		return nil
	}
	if ext := path.Ext(name); !d.Type().IsRegular() || ext != ".go" && ext != ".md" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(t.root, name)
	t.files = append(t.files, file{filepath.ToSlash(rel), string(text)})
	return err
}

// dir is a package's directory, from the root.
func (t *tree) dir(p string) string {
	if p == t.module {
		return "."
	}
	return strings.TrimPrefix(p, t.module+"/")
}
