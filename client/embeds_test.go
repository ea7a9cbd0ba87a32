package client

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestEmbedsLittle: a program that imports the client gets the client, not the server, nor
// what the server is made of.
func TestEmbedsLittle(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/turnlog/turnlog/"
	want := []string{module + "client", module + "internal/resp", module + "internal/toolcalls", module + "turn",
		"golang.org/x/sync/semaphore"}
	got := strings.Fields(string(out))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("it is built of %q", got)
	}
}
