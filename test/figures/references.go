package main

import (
	"go/ast"
	"go/types"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// A graph tells how many references go from one file of a package to another.
type graph struct {
	files []string
	edges [][]int             // [from][to]
	names map[[2]int][]string // from one file (of files) to another: the names of what is used
}

// references finds the functions and methods that files of a package use of each other.
func references(p *packages.Package) graph {
	g := graph{names: map[[2]int][]string{}}
	index := map[string]int{}
	for _, f := range p.Syntax {
		name := filepath.Base(p.Fset.File(f.FileStart).Name())
		index[name] = len(g.files)
		g.files = append(g.files, name)
	}
	g.edges = make([][]int, len(g.files))
	for i, f := range p.Syntax {
		g.edges[i] = make([]int, len(g.files))
		seen := map[types.Object]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			used, ok := p.TypesInfo.Uses[id].(*types.Func)
			if !ok || used.Pkg() != p.Types || seen[used.Origin()] {
				return true
			}
			used = used.Origin()
			seen[used] = true
			at, ok := index[filepath.Base(p.Fset.File(used.Pos()).Name())]
			if ok && at != i {
				g.edges[i][at]++
				g.names[[2]int{i, at}] = append(g.names[[2]int{i, at}], functionName(used))
			}
			return true
		})
	}
	return g
}

// functionName is a function's name as `go doc` prints it, with its receiver's type.
func functionName(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	text := types.TypeString(recv.Type(), func(*types.Package) string { return "" })
	return "(" + text + ")." + f.Name()
}

func (g graph) sum() (n int) {
	for _, row := range g.edges {
		for _, count := range row {
			n += count
		}
	}
	return n
}

// sub is the part of the graph between some of its files.
func (g graph) sub(files []int) graph {
	s := graph{}
	for _, i := range files {
		s.files = append(s.files, g.files[i])
		row := make([]int, len(files))
		for k, j := range files {
			row[k] = g.edges[i][j]
		}
		s.edges = append(s.edges, row)
	}
	return s
}

// components are the strongly connected components (Tarjan).
func (g graph) components() [][]int {
	n := len(g.files)
	var out [][]int
	var stack []int
	number, low, onStack := make([]int, n), make([]int, n), make([]bool, n)
	next := 0
	var visit func(v int)
	visit = func(v int) {
		next++
		number[v], low[v] = next, next
		stack, onStack[v] = append(stack, v), true
		for w, count := range g.edges[v] {
			switch {
			case count == 0:
			case number[w] == 0:
				visit(w)
				low[v] = min(low[v], low[w])
			case onStack[w]:
				low[v] = min(low[v], number[w])
			}
		}
		if low[v] != number[v] {
			return
		}
		var c []int
		for {
			w := stack[len(stack)-1]
			stack, onStack[w] = stack[:len(stack)-1], false
			if c = append(c, w); w == v {
				out = append(out, c)
				return
			}
		}
	}
	for v := range n {
		if number[v] == 0 {
			visit(v)
		}
	}
	return out
}
