package mutation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Record is the file, in cluster-test, with the table of all mutants and the figures of the last
// hunts. It follows from the code, apart from the figures.
const Record = "MUTANTS.md"

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
	return figures(fmt.Sprintf("%d of %d | %d of %d | %v | %s", h.caught(), len(h.hunts), runs, h.By.Runs,
		median.Round(100*time.Millisecond), now.Format("2 Jan 2006")))
}

func (h *hunt) caught() (n int) {
	for _, one := range h.hunts {
		if one.runs > 0 {
			n++
		}
	}
	return n
}

// summary returns the most runs that one of the hunts took, and their median time.
func (h *hunt) summary() (runs int, median time.Duration) {
	times := make([]time.Duration, 0, len(h.hunts))
	for _, one := range h.hunts {
		runs = max(runs, one.runs)
		times = append(times, one.took)
	}
	slices.Sort(times)
	if len(times) == 0 {
		return 0, 0
	}
	return runs, times[len(times)/2]
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

// Table returns the table with all mutants that there are, and the figures of the table before.
func Table(families []Family, before string) string { return writeTable(families, readFigures(before)) }

func writeTable(families []Family, known map[pairing]figures) string {
	var text strings.Builder
	text.WriteString(recordHead)
	for _, f := range families {
		fmt.Fprintf(&text, "\n## %s\n\n", f.About)
		for _, m := range f.Mutants {
			fmt.Fprintf(&text, "- **%s**: %s\n", m.Name, m.About)
		}
		text.WriteString("\n| mutant | caught by | caught | runs | time | hunted |\n|---|---|---|---|---|---|\n")
		for _, m := range f.Mutants {
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

// record notes what the hunt found in the file of the source tree.
func (h *hunt) record(now time.Time) error {
	path := filepath.Join(h.code.Root, "cluster-test", Record)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known := readFigures(string(b))
	known[pairing{h.Name, h.By.String()}] = h.figures(now)
	return os.WriteFile(path, []byte(writeTable(h.Families, known)), 0o644)
}
