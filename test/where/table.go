package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// heading begins the section with the table.
const heading = "## Where is …\n"

// An entry is a function that the table names, with the file in which the table says that it is.
type entry struct{ file, function string }

// A move is an entry whose function is in another file now.
type move struct {
	entry
	now string
}

// reference is how the table names a function: `file.go` `(*Type).method`.
var reference = regexp.MustCompile("`([^` ]+\\.go)` `([^`]+)`")

// parse reads the table.
func parse(text string) ([]entry, error) {
	_, section, found := strings.Cut(text, heading)
	if !found {
		return nil, fmt.Errorf("ARCHITECTURE.md has no section %q", strings.TrimSpace(heading))
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var entries []entry
	for line := range strings.Lines(section) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(row) != 2 || strings.HasPrefix(row[1], "---") || strings.TrimSpace(row[1]) == "where" {
			continue
		}
		named := reference.FindAllStringSubmatch(row[1], -1)
		if len(named) == 0 {
			return nil, fmt.Errorf("ARCHITECTURE.md: no function is named at %q", strings.TrimSpace(row[0]))
		}
		for _, n := range named {
			entries = append(entries, entry{file: n[1], function: n[2]})
		}
	}
	return entries, nil
}

// declared returns the files that declare each function of the product, by its name with the
// receiver: run, (*Node).Run, (position).before.
func declared(root string) (map[string][]string, error) {
	functions := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				functions[nameOf(f)] = append(functions[nameOf(f)], filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return functions, err
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t, star := f.Recv.List[0].Type, ""
	if s, ok := t.(*ast.StarExpr); ok {
		t, star = s.X, "*"
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	return fmt.Sprintf("(%s%s).%s", star, t.(*ast.Ident).Name, f.Name.Name)
}

// check looks up all entries. It fails if a function does not exist, or exists only in several
// files that the table does not name.
func check(entries []entry, functions map[string][]string) (moves []move, err error) {
	for _, e := range entries {
		files := functions[e.function]
		switch {
		case slices.Contains(files, e.file):
		case len(files) == 0:
			err = errors.Join(err, fmt.Errorf("ARCHITECTURE.md: there is no function %s: name the one that does its "+
				"work now", e.function))
		case len(files) == 1:
			moves = append(moves, move{e, files[0]})
		default:
			err = errors.Join(err, fmt.Errorf("ARCHITECTURE.md: %s is not in %s: name one of %s", e.function, e.file,
				strings.Join(files, ", ")))
		}
	}
	return moves, err
}

// apply writes the present file of each function that has moved into the text.
func apply(text string, moves []move) string {
	for _, m := range moves {
		text = strings.ReplaceAll(text, fmt.Sprintf("`%s` `%s`", m.file, m.function),
			fmt.Sprintf("`%s` `%s`", m.now, m.function))
	}
	return text
}
