// Figures measures the shape of this repository: how much there is, how it is divided, how well a
// reader can go through it from top to bottom, and how its words are doing.
//
//	go run ./test/figures                       measures HEAD
//	go run ./test/figures 1be4487 HEAD          measures both and prints them side by side
//	go run ./test/figures --write FILE A B      also writes them to a Markdown file
//
// An argument is a commit, of which a copy is measured, or a directory. definitions.md defines the figures.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	write := flag.String("write", "", "also write the figures to this Markdown file")
	flag.Parse()
	trees := flag.Args()
	if len(trees) == 0 {
		trees = []string{"HEAD"}
	}
	if err := run(trees, *write); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(trees []string, write string) error {
	var reports []report
	for _, name := range trees {
		r, err := measureTree(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		reports = append(reports, r)
	}
	text := page(reports)
	fmt.Print(text)
	if write == "" {
		return nil
	}
	return os.WriteFile(write, []byte(text), 0o644)
}

// measureTree measures a commit or a directory.
func measureTree(name string) (report, error) {
	root, title := name, name
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		var remove func()
		if root, title, remove, err = checkOut(name); err != nil {
			return report{}, err
		}
		defer remove()
	}
	t, err := load(root)
	if err != nil {
		return report{}, err
	}
	words, err := countWords(root)
	if err != nil {
		return report{}, err
	}
	return measure(title, t, words), nil
}
