package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnlog/turnlog/cmd/turnlog/internal/cli"
)

// TestManPages: each command that the help lists has a page with all its flags, and groff has nothing to
// say about any of them.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command(binary, "man-pages", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var pages []string
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		text := string(read(t, name))
		pages = append(pages, name)
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && !strings.Contains(text, strings.ReplaceAll("--"+f.Name, "-", `\-`)) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(root(&cli.App{Getenv: func(string) string { return "" }}))
	groff(t, pages)
}

func groff(t *testing.T, pages []string) {
	t.Helper()
	if _, err := exec.LookPath("groff"); err != nil {
		if os.Getenv("TURNLOG_REQUIRE_GROFF") == "1" {
			t.Fatal(err)
		}
		t.Log("NOT TESTED: whether groff takes the pages; `make packages-os` does")
		return
	}
	for _, page := range pages {
		cmd := exec.Command("groff", "-k", "-man", "-ww", "-Tutf8", "-z", page)
		if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
			t.Errorf("%s: %v: %s", page, err, out)
		}
	}
}
