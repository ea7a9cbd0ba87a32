package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// A sized is a thing with a size, for rankings.
type sized struct {
	name string
	size int
}

// largest sorts by size, then by name, and returns the first n.
func largest(list []sized, n int) []sized {
	slices.SortFunc(list, func(a, b sized) int {
		if a.size != b.size {
			return b.size - a.size
		}
		return strings.Compare(a.name, b.name)
	})
	return list[:min(n, len(list))]
}

// percentile is the smallest size that is at least as large as p percent of the sizes.
func percentile(list []sized, p int) int {
	if len(list) == 0 {
		return 0
	}
	sizes := make([]int, len(list))
	for i, s := range list {
		sizes[i] = s.size
	}
	slices.Sort(sizes)
	return sizes[(len(sizes)*p+99)/100-1]
}

// functions lists the functions and methods of a package with their lengths in lines.
func functions(dir string, p *packages.Package) (list []sized) {
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = "(" + types.ExprString(fn.Recv.List[0].Type) + ")." + name
			}
			lines := p.Fset.Position(fn.End()).Line - p.Fset.Position(fn.Pos()).Line + 1
			list = append(list, sized{dir + "." + name, lines})
		}
	}
	return list
}

// structs lists the named struct types of a package with their numbers of fields.
func structs(dir string, p *packages.Package) (list []sized) {
	for _, name := range p.Types.Scope().Names() {
		t, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		if s, ok := t.Type().Underlying().(*types.Struct); ok {
			list = append(list, sized{dir + "." + name, s.NumFields()})
		}
	}
	return list
}

// methods lists the named types of a package with their numbers of methods.
func methods(dir string, p *packages.Package) (list []sized) {
	for _, name := range p.Types.Scope().Names() {
		t, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		if n, ok := t.Type().(*types.Named); ok && n.NumMethods() > 0 {
			list = append(list, sized{dir + "." + name, n.NumMethods()})
		}
	}
	return list
}

// exported counts the exported names of a package, with the methods of exported types.
func exported(p *packages.Package) (n int) {
	for _, name := range p.Types.Scope().Names() {
		o := p.Types.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		n++
		t, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !ok || !isType {
			continue
		}
		for m := range t.Methods() {
			if m.Exported() {
				n++
			}
		}
	}
	return n
}

// public says whether other modules can import a package.
func public(dir string, p *packages.Package) bool {
	return p.Name != "main" && !strings.Contains("/"+dir+"/", "/internal/")
}
