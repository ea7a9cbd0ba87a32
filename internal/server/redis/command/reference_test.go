package command

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	referencePage  = "../../../../docs/redis.md"
	referenceBegin = "<!-- commands: generated from the table, see " +
		"internal/server/redis/command/reference_test.go -->\n"
	referenceEnd = "<!-- end of commands -->\n"
)

var updatePage = flag.Bool("update", false, "rewrite the tables of commands in docs/redis.md")

// TestReferencePage holds the command tables of docs/redis.md against the table
// of commands; with -update it writes them.
func TestReferencePage(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(page), referenceBegin)
	old, after, ok2 := strings.Cut(rest, referenceEnd)
	if !ok1 || !ok2 {
		t.Fatal("the page lacks the marks between which the commands stand")
	}
	want := reference()
	if old == want {
		return
	}
	if !*updatePage {
		t.Fatal("docs/redis.md is not what the table of commands says; run: go test ./internal/server/redis/command " +
			"-run TestReferencePage -update")
	}
	if err := os.WriteFile(referencePage, []byte(before+referenceBegin+want+referenceEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func reference() string {
	var b strings.Builder
	tier := ""
	for _, cmd := range NewTable().Slots {
		if cmd.tier != tier {
			tier = cmd.tier
			fmt.Fprintf(&b, "\n### %s\n\n| command | |\n|---|---|\n", tier)
		}
		if cmd.Container() {
			continue // a container stands for nothing by itself
		}
		name := strings.ToUpper(strings.Replace(cmd.Name, "|", " ", 1))
		syntax := strings.ReplaceAll(strings.TrimSpace(name+" "+cmd.Args), "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s |\n", syntax, cmd.summary)
	}
	return b.String() + "\n"
}
