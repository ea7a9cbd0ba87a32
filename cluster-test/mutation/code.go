package mutation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/turnlog/turnlog/cluster-test/cluster"
)

// Code is the source tree that mutants are made of, and the modules that it depends on.
type Code struct {
	Root    string
	modules map[string][]*source // by path; "" is the source tree itself
	tests   map[string][]test    // by name
}

// test is where a Go test is.
type test struct{ name, pkg, folder string }

// ReadCode reads the source tree.
func ReadCode(ctx context.Context) (*Code, error) {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	c := &Code{Root: root, modules: map[string][]*source{}, tests: map[string][]test{}}
	c.modules[""], err = c.read(root)
	return c, err
}

// module returns the sources of the module, which is read when it is first wanted.
func (c *Code) module(path string) ([]*source, error) {
	if sources, ok := c.modules[path]; ok {
		return sources, nil
	}
	dir, err := moduleDir(path)
	if err != nil {
		return nil, err
	}
	c.modules[path], err = c.read(dir)
	return c.modules[path], err
}

func moduleDir(path string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// read reads all Go files of a module, of which tests are only noted.
func (c *Code) read(dir string) (sources []*source, err error) {
	return sources, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return ignored(dir, path)
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			return c.noteTests(dir, path, string(b))
		}
		s, err := newSource(path, b)
		sources = append(sources, s)
		return err
	})
}

// ignored leaves folders out that the go command does not take for the module's.
func ignored(dir, path string) error {
	if path == dir {
		return nil
	}
	if base := filepath.Base(path); base == "testdata" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

var (
	testHead    = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	packageHead = regexp.MustCompile(`(?m)^package (\w+)`)
)

func (c *Code) noteTests(dir, path, text string) error {
	if dir != c.Root {
		return nil
	}
	folder, err := filepath.Rel(dir, filepath.Dir(path))
	if err != nil {
		return err
	}
	pkg := packageHead.FindStringSubmatch(text)
	if pkg == nil {
		return fmt.Errorf("%s: no package", path)
	}
	for _, m := range testHead.FindAllStringSubmatch(text, -1) {
		c.tests[m[1]] = append(c.tests[m[1]], test{m[1], strings.TrimSuffix(pkg[1], "_test"), folder})
	}
	return nil
}

// test returns the test of this name, or of this package and name.
func (c *Code) test(name string) (test, error) {
	pkg, short, ok := strings.Cut(name, ".")
	if !ok {
		pkg, short = "", name
	}
	found := slices.DeleteFunc(slices.Clone(c.tests[short]), func(t test) bool { return pkg != "" && t.pkg != pkg })
	if len(found) == 1 {
		return found[0], nil
	}
	err := fmt.Errorf("there are %d tests %s", len(found), name)
	for _, t := range found {
		err = errors.Join(err, fmt.Errorf("%s.%s in ./%s", t.pkg, t.name, t.folder))
	}
	return test{}, err
}

// Place is the file that an edit changes.
type Place struct{ Module, Path string }

// Change returns the files that the edits change.
func (c *Code) Change(edits []Edit) (map[Place]string, error) {
	changes := map[*source][]change{}
	places := map[*source]Place{}
	for _, e := range edits {
		sources, err := c.module(e.Module)
		if err != nil {
			return nil, err
		}
		old, err := tokens([]byte(e.Old))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.Old, err)
		}
		var where []string
		for _, s := range sources {
			for _, at := range s.find(old, e.In) {
				changes[s] = append(changes[s], change{at, e.New})
				places[s] = Place{e.Module, s.path}
				where = append(where, s.path)
			}
		}
		if len(where) != 1 {
			return nil, fmt.Errorf("%q occurs %d times, in %s; the mutant has to follow the code", e.Old,
				len(where), where)
		}
	}
	texts := map[Place]string{}
	for s, all := range changes {
		text, err := s.changed(all)
		if err != nil {
			return nil, err
		}
		texts[places[s]] = text
	}
	return texts, nil
}
