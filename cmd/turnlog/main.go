// Command turnlog runs a node, a whole cluster for development, and every
// operation on sessions from the command line.
package main

import (
	"os"
)

func main() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, version: version}
	os.Exit(a.execute(a.root(), os.Args[1:]))
}
