// Where checks the table "Where is …" of ARCHITECTURE.md: each function that it names exists, in the
// file that it names.
//
//	go run ./test/where            fails if the table is wrong, and says how
//	go run ./test/where --write    writes the files to which functions have moved into the table
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	write := flag.Bool("write", false, "correct the files of functions that have moved")
	flag.Parse()
	if err := run(".", *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, write bool) error {
	name := root + "/ARCHITECTURE.md"
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	entries, err := parse(string(text))
	if err != nil {
		return err
	}
	functions, err := declared(root)
	if err != nil {
		return err
	}
	moves, err := check(entries, functions)
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(name, []byte(apply(string(text), moves)), 0o644)
	}
	if len(moves) > 0 {
		m := moves[0]
		return fmt.Errorf("ARCHITECTURE.md: %s is in %s, not in %s: run go run ./test/where --write", m.function,
			m.now, m.file)
	}
	return nil
}
