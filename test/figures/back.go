package main

import (
	"fmt"
	"io"
	"strings"
)

// printBack lists, for each package, the files in cycles in their best order, and what they use of
// files before.
func printBack(w io.Writer, t *tree) {
	for _, p := range t.packages {
		g := references(p)
		for _, order := range g.cycles() {
			fmt.Fprintf(w, "%s: %d of %d files, %d references run back\n",
				t.dir(p.PkgPath), len(order), len(g.files), g.against(order))
			g.printBack(w, order)
		}
	}
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
