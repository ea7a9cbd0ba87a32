package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// recordName is where the table of all mutants is, with the figures of the last hunts.
// It follows from the code, apart from the figures.
const recordName = "MUTANTS.md"

const recordHead = `# Mutants

A mutant is turnlog with one promise broken; [README.md](README.md#mutants) explains them. The tables
show how often each was caught by the tests and scenarios that must catch it. They are written by
` + "`go run ./cluster-test --mutants NAMES --record`" + `; a test compares the list with the code, and
writes it with ` + "`-args -record`" + `. "Runs" is the most runs that any hunt took, of those allowed; the
time is the median, on two cores with other work. – has not been hunted yet.
`

// pairing is a mutant and one of its catchers.
type pairing struct{ mutant, catcher string }

// figures are the last columns of the table, as they are written there.
type figures string

// noFigures are those of a pairing that was not hunted yet.
const noFigures figures = "– | – | – | –"

// figures returns what the hunt found, for the table.
func (h *hunt) figures(now time.Time) figures {
	runs, median := h.summary()
	return figures(fmt.Sprintf("%d of %d | %d of %d | %v | %s", h.caught(), len(h.hunts), runs, h.by.Runs,
		median.Round(100*time.Millisecond), now.Format("2 Jan 2006")))
}

// readFigures returns what a table says.
func readFigures(table string) map[pairing]figures {
	known := map[pairing]figures{}
	var name string
	for line := range strings.Lines(table) {
		cells := strings.SplitN(strings.Trim(strings.TrimSpace(line), "|"), " | ", 3)
		if len(cells) < 3 {
			continue
		}
		if cell := strings.TrimSpace(cells[0]); cell != "" {
			name = cell
		}
		known[pairing{name, strings.Trim(cells[1], "` ")}] = figures(strings.TrimSpace(cells[2]))
	}
	return known
}

// writeTable returns the table with all mutants that there are.
func writeTable(known map[pairing]figures) string {
	var text strings.Builder
	text.WriteString(recordHead)
	for _, f := range families() {
		fmt.Fprintf(&text, "\n## %s\n\n", f.about)
		for _, m := range f.mutants {
			fmt.Fprintf(&text, "- **%s**: %s\n", m.Name, m.About)
		}
		text.WriteString("\n| mutant | caught by | caught | runs | time | hunted |\n|---|---|---|---|---|---|\n")
		for _, m := range f.mutants {
			name := m.Name
			for i := range m.Catchers {
				by := m.Catchers[i].String()
				found, ok := known[pairing{m.Name, by}]
				if !ok {
					found = noFigures
				}
				fmt.Fprintf(&text, "| %s | `%s` | %s |\n", name, by, found)
				name = ""
			}
		}
	}
	return text.String()
}

// record notes the figures of the pairings in the file of the source tree.
func record(root string, found map[pairing]figures) error {
	path := filepath.Join(root, "cluster-test", recordName)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known := readFigures(string(b))
	for p, f := range found {
		known[p] = f
	}
	return os.WriteFile(path, []byte(writeTable(known)), 0o644)
}
