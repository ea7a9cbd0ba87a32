// Command turnlog runs a node, a whole cluster for development, and every
// operation on sessions from the command line.
package main

import (
	"os"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

func main() {
	a := &cli.App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: version}
	os.Exit(a.Execute(root(a), os.Args[1:]))
}
