package main

import (
	"fmt"
	"io"
	"strings"
)

// check lists what a tree must not have: references that run back, and lines that are too long. It returns how many
// there are.
func check(w io.Writer, t *tree) (found int) {
	for _, f := range t.files {
		for _, number := range tooLong(f) {
			found++
			fmt.Fprintf(w, "%s:%d: the line is too long\n", f.name, number)
		}
	}
	return found + printBack(w, t)
}

// printBack lists, for each package, the files in cycles in their best order, and what they use of
// files before. It returns how many references run back.
func printBack(w io.Writer, t *tree) (back int) {
	for _, p := range t.packages {
		g := references(p)
		for _, order := range g.cycles() {
			fmt.Fprintf(w, "%s: %d of %d files, %d references run back\n",
				t.dir(p.PkgPath), len(order), len(g.files), g.against(order))
			g.printBack(w, order)
			back += g.against(order)
		}
	}
	return back
}

func (g graph) printBack(w io.Writer, order []int) {
	for i, from := range order {
		fmt.Fprintf(w, "  %s\n", g.files[from])
		for _, to := range order[:i] {
			if names := g.names[[2]int{from, to}]; len(names) > 0 {
				fmt.Fprintf(w, "      uses of %s: %s\n", g.files[to], strings.Join(names, ", "))
			}
		}
	}
}
