package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

// A mutant that does not compile any more is no mutant: a hunt for it would catch the compiler's error. Types alone are
// checked, for building all of them takes a quarter of an hour.
func TestMutantsCompile(t *testing.T) {
	if os.Getenv("TURNLOG_LONG") == "" {
		t.Skip("set TURNLOG_LONG=1, as make mutants-ci does, to check the types of all mutants")
	}
	read, err := mutation.ReadCode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check, err := newTyping(read.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range All() {
		texts, err := read.Change(m.Edits)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		err = check.mutant(texts)
		if errors.Is(err, errSeveral) {
			err = buildMutant(t, &m, read, texts)
		}
		if err != nil {
			t.Errorf("%s does not compile: %v", m.Name, err)
		}
	}
	broken := map[mutation.Place]string{}
	for place := range must(read.Change(All()[0].Edits)) {
		b, err := os.ReadFile(place.Path)
		if err != nil {
			t.Fatal(err)
		}
		broken[place] = string(b) + "\nfunc broken() int { unused := 1 }\n"
	}
	if err := check.mutant(broken); err == nil {
		t.Error("a mutant that does not compile is taken for one")
	}
}

// errSeveral is the error for mutants that change several packages, of which one may need the changes of another.
var errSeveral = errors.New("it changes several packages")

// buildMutant has the compiler look at what a mutant changes.
func buildMutant(t *testing.T, m *mutation.Mutant, read *mutation.Code, texts map[mutation.Place]string) error {
	flags, err := m.Flags(read, t.TempDir())
	if err != nil {
		return err
	}
	build := exec.Command("go", append([]string{"build", "-buildvcs=false"}, flags...)...)
	for place := range texts {
		build.Args = append(build.Args, filepath.Dir(place.Path))
	}
	build.Dir = read.Root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// typing checks the types of changed packages. What they import is read as the compiler left it.
type typing struct {
	folders  map[string]*listed // by directory
	exports  map[string]string  // import path → file of the compiler
	imports  types.Importer
	set      *token.FileSet
	original map[string]*ast.File // by path
}

// listed is a package as the go command tells of it.
type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	ImportMap               map[string]string
}

func newTyping(root string) (*typing, error) {
	list := exec.Command("go", "list", "-buildvcs=false", "-export", "-deps",
		"-json=Dir,ImportPath,Export,GoFiles,ImportMap", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	c := &typing{folders: map[string]*listed{}, exports: map[string]string{}, set: token.NewFileSet(),
		original: map[string]*ast.File{}}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		c.folders[p.Dir], c.exports[p.ImportPath] = p, p.Export
	}
	c.imports = importer.ForCompiler(c.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(c.exports[path])
	})
	return c, nil
}

// mutant checks the packages of which files are changed.
func (c *typing) mutant(texts map[mutation.Place]string) error {
	changed := map[string]map[string]string{} // directory → path → text
	for place, text := range texts {
		dir := filepath.Dir(place.Path)
		if changed[dir] == nil {
			changed[dir] = map[string]string{}
		}
		changed[dir][place.Path] = text
	}
	if len(changed) > 1 {
		return errSeveral
	}
	for dir, texts := range changed {
		if err := c.check(c.folders[dir], texts); err != nil {
			return err
		}
	}
	return nil
}

func (c *typing) check(p *listed, texts map[string]string) error {
	if p == nil {
		return errors.New("it changes no package that turnlog is built of")
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f, err := c.file(path, texts)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	for path := range texts {
		if !slices.Contains(p.GoFiles, filepath.Base(path)) {
			return fmt.Errorf("%s is not compiled on this system", path)
		}
	}
	var all []error
	config := types.Config{Importer: renamed{c.imports, p.ImportMap}, Error: func(err error) { all = append(all, err) }}
	config.Check(p.ImportPath, c.set, files, nil) // its error is the first of all
	return errors.Join(all...)
}

// file parses the changed text, or else the file, once.
func (c *typing) file(path string, texts map[string]string) (*ast.File, error) {
	if text, ok := texts[path]; ok {
		return parser.ParseFile(c.set, path, text, parser.SkipObjectResolution)
	}
	if f := c.original[path]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(c.set, path, nil, parser.SkipObjectResolution)
	c.original[path] = f
	return f, err
}

// renamed finds packages that the go command keeps under another path, such as those that Go vendors.
type renamed struct {
	types.Importer
	paths map[string]string
}

func (r renamed) Import(path string) (*types.Package, error) {
	if other, ok := r.paths[path]; ok {
		path = other
	}
	return r.Importer.Import(path)
}
