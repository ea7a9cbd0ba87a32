package mutants

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/cluster-test/mutation"
)

var writeRecord = flag.Bool("record", false, "write the table of mutants")

// The table has all mutants and catchers, as the code has them, and no others.
func TestTablesOfMutants(t *testing.T) {
	const name = "../" + mutation.Record
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := mutation.Table(Families(), string(b))
	if *writeRecord {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Errorf("%s is not what the code has; write it with: "+
			"go test ./cluster-test/mutants -run TestTables -args -record", name)
	}
	type pairing struct{ mutant, catcher string }
	pairings := map[pairing]bool{}
	for _, m := range All() {
		for i := range m.Catchers {
			p := pairing{m.Name, m.Catchers[i].String()}
			if pairings[p] {
				t.Errorf("%s: two catchers %s", p.mutant, p.catcher)
			}
			pairings[p] = true
			if strings.Contains(m.About, "|") {
				t.Errorf("%s: its description cannot be in a table", m.Name)
			}
		}
	}
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, "|") != 7 {
			t.Errorf("not six cells: %s", line)
		}
	}
}

// All edits fit the code, and the tests that have to notice are there.
func TestTablesFitTheCode(t *testing.T) {
	read, err := mutation.ReadCode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range All() {
		if err := m.Check(read); err != nil {
			t.Errorf("mutant %s: %v", m.Name, err)
		}
	}
}
