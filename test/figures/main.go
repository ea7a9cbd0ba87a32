// Figures measures the shape of this repository: how much there is, how it is divided, whether
// it can be read from top to bottom, and which of the replaced words are left.
//
//	go run ./test/figures                       measures HEAD
//	go run ./test/figures 1be4487 HEAD          measures both and prints them side by side
//	go run ./test/figures --write FILE A B      also writes them to a Markdown file
//	go run ./test/figures --back DIR            lists the references between files that run back
//	go run ./test/figures --check DIR           lists them, and lines that are too long; fails if there are any
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
	back := flag.Bool("back", false, "list the references between files that run back")
	checks := flag.Bool("check", false, "list the same, and lines that are too long; fail if there are any")
	flag.Parse()
	trees := flag.Args()
	if len(trees) == 0 {
		trees = []string{"HEAD"}
	}
	err := error(nil)
	switch {
	case *back:
		err = onTree(trees[0], func(t *tree) error { printBack(os.Stdout, t); return nil })
	case *checks:
		err = onTree(trees[0], func(t *tree) error {
			if n := check(os.Stdout, t); n > 0 {
				return fmt.Errorf("%d lines are too long or references run back", n)
			}
			return nil
		})
	default:
		err = run(trees, *write)
	}
	if err != nil {
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

// onTree does something with a commit or a directory.
func onTree(name string, do func(*tree) error) error {
	root, _, remove, err := directory(name)
	if err != nil {
		return err
	}
	defer remove()
	t, err := load(root)
	if err != nil {
		return err
	}
	return do(t)
}

// directory is where a commit or a directory can be read, and what to call it.
func directory(name string) (root, title string, remove func(), err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name, name, func() {}, nil
	}
	return checkOut(name)
}

// measureTree measures a commit or a directory.
func measureTree(name string) (report, error) {
	root, title, remove, err := directory(name)
	if err != nil {
		return report{}, err
	}
	defer remove()
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
