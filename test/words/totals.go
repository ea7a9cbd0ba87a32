package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// printTotals prints a line "count word" for each replaced word that files below root use.
func printTotals(root string) error {
	totals, err := count(os.DirFS(root))
	for _, w := range slices.Sorted(maps.Keys(totals)) {
		fmt.Println(totals[w], w)
	}
	return err
}

// count counts replaced words in a tree of files that need not be a checkout, as of another commit.
func count(tree fs.FS) (map[string]int, error) {
	totals := map[string]int{}
	return totals, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (d.Name()[0] == '.' || d.Name() == "bin" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !readable(name) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		for _, f := range inFile(name, text) {
			if !stays(f) {
				totals[f.word]++
			}
		}
		return err
	})
}
