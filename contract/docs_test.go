package contract_test

import (
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/contract"
)

// TestDocs: the page shows the example as it is compiled here, and every gate and
// capability by its name.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page, "```go\n"+string(example)+"```") {
		t.Error("docs/contract.md does not show example_test.go as it is")
	}
	if n := strings.Count(string(example), "\n"); n >= 50 {
		t.Errorf("the example has %d lines; it is to have fewer than 50", n)
	}
	for _, g := range contract.Gates {
		if !strings.Contains(page, "`"+string(g)+"`") {
			t.Errorf("docs/contract.md does not mention the gate %s", g)
		}
	}
	for _, c := range contract.Cases() {
		for _, need := range c.Needs {
			if !strings.Contains(page, "`"+string(need)+"`") {
				t.Errorf("docs/contract.md does not mention the capability %q", need)
			}
		}
	}
}
