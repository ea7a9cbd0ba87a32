package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableOfArchitecture: what ARCHITECTURE.md names exists. That it is in the file named there is
// for make lint, so that moving a file does not fail a test.
func TestTableOfArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 12 {
		t.Fatalf("the table names %d functions only", len(entries))
	}
	functions, err := declared("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check(entries, functions); err != nil {
		t.Error(err)
	}
}

func TestTableIsChecked(t *testing.T) {
	const code = "package p\nfunc run() {}\nfunc (n *Node) Run() {}\nfunc (l list[T]) last() {}\n"
	table := func(rows ...string) string {
		return heading + "\n| what | where |\n|---|---|\n" + strings.Join(rows, "\n") +
			"\n\n## Next\n| `x.go` | `gone` |\n"
	}
	tests := map[string]struct{ text, fails, becomes string }{
		"right": {text: table("| a | `p/a.go` `run`, then `p/a.go` `(*Node).Run` |",
			"| b | `p/a.go` `(list).last` |")},
		"moved": {text: table("| a | `p/b.go` `run` |"), fails: "run is in p/a.go",
			becomes: table("| a | `p/a.go` `run` |")},
		"gone":        {text: table("| a | `p/a.go` `stop` |"), fails: "no function stop"},
		"receiver":    {text: table("| a | `p/a.go` `(Node).Run` |"), fails: "no function (Node).Run"},
		"several":     {text: table("| a | `p/c.go` `twice` |"), fails: "name one of p/b.go, q/b.go"},
		"names none":  {text: table("| a | somewhere |"), fails: "no function is named"},
		"no section":  {text: "# Nothing", fails: "no section"},
		"only a test": {text: table("| a | `p/a_test.go` `TestIt` |"), fails: "no function TestIt"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range map[string]string{"p/a.go": code, "p/b.go": "package p\nfunc twice() {}",
				"q/b.go": "package q\nfunc twice() {}", "p/a_test.go": "package p\nfunc TestIt() {}",
				"ARCHITECTURE.md": test.text} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := run(root, false)
			if test.fails == "" && err != nil || test.fails != "" &&
				(err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Fatalf("error %v, want %q", err, test.fails)
			}
			if test.becomes == "" {
				return
			}
			if err := run(root, true); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md")); string(got) != test.becomes {
				t.Errorf("corrected to\n%s", got)
			}
			if err := run(root, false); err != nil {
				t.Errorf("after the correction: %v", err)
			}
		})
	}
}
