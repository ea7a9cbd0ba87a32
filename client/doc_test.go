package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/client/turnlogtest"
)

// program returns the lines of a package comment from "package main" to the end of the indented block.
func program(t *testing.T, file string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return indented(f.Doc)
}

func indented(doc *ast.CommentGroup) string {
	var lines []string
	for line := range strings.Lines(doc.Text()) {
		switch {
		case len(lines) == 0 && line != "\tpackage main\n":
		case line == "\n" || strings.HasPrefix(line, "\t"):
			lines = append(lines, strings.TrimPrefix(line, "\t"))
		default:
			return strings.Join(lines, "")
		}
	}
	return strings.Join(lines, "")
}

// The program in the package comment does what it says: against a server, as a program of its own.
func TestProgramOfTheDocumentation(t *testing.T) {
	const addrs = `"127.0.0.1:7379", "127.0.0.1:7389", "127.0.0.1:7399"`
	text := program(t, "doc.go")
	if !strings.Contains(text, addrs) {
		t.Fatalf("the program does not name %s:\n%s", addrs, text)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	text = strings.Replace(text, addrs, `"`+turnlogtest.Start(t).Addr()+`"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", file).CombinedOutput()
	if err != nil || string(out) != "saved as messages 1 and 2\n" {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}
