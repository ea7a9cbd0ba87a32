package command

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// docs/redis.md names the code of every kind of error, as Redis's commands and as TURN.*
// answer it, and says of each whether the write took place.
func TestErrorsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Error codes\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	table, after, _ := strings.Cut(section, "\n\n`TURN.*` commands")
	happened := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| .*? \| (.*?) \|`).FindAllStringSubmatch(table, -1) {
		for _, code := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(row[1], -1) {
			happened[code[1]] = row[2]
		}
	}
	code := func(err error, native bool) string {
		c, _, _ := strings.Cut(ErrorText(err, native), " ")
		return c
	}
	for kind := turn.Internal; kind <= turn.Forbidden; kind++ {
		err := turn.Errorf(kind, "why")
		if kind == turn.Unauthorized || kind == turn.Forbidden {
			continue // TURN.* commands answer as Redis's do, before they are run
		}
		if c := code(err, true); !strings.Contains(after, "`"+c+"`") {
			t.Errorf("docs/redis.md does not say that TURN.* answers with %s", c)
		}
		c := code(err, false)
		if c == "ERR" || c == "WRONGTYPE" || kind == turn.Exists {
			continue // Redis's own, and what only TURN.FORK answers
		}
		if says := happened[c]; says == "" || (says == "perhaps") != err.Applied() {
			t.Errorf("docs/redis.md says of a write that fails with %s: %q", c, says)
		}
	}
}
