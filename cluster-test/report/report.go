// Package report reports the outcome of a run of cluster-test: a verdict for programs, and a page with a diagram for
// people.
package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnlog/turnlog/cluster-test/workload"
	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Report is the outcome of a run.
type Report struct {
	Scenario string    `json:"scenario"`
	Passed   bool      `json:"passed"`
	Problems []string  `json:"problems"` // everything that makes it fail, beside the checker's verdict
	Command  string    `json:"command"`  // that repeats it
	Seed     uint64    `json:"seed"`
	Commit   string    `json:"commit"`
	Nodes    int       `json:"nodes"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"` // of work, without start and checks

	// Evidence is what the scenario measured, in sentences.
	Evidence []string `json:"evidence,omitempty"`

	// Stall is how late the harness's own clock ticked at worst while it read
	// everything, after all faults.
	Stall time.Duration `json:"stall_ns"`

	Checked *lincheck.Verdict `json:"checked"`
	Counts  workload.Counts   `json:"counts"`
	Figures Figures           `json:"figures"`
}

// Fail notes a reason why the run did not pass.
func (r *Report) Fail(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Show notes something that the scenario measured.
func (r *Report) Show(format string, args ...any) {
	r.Evidence = append(r.Evidence, fmt.Sprintf(format, args...))
}

// Write completes r from the history and writes it into dir: verdict.json, and
// timeline.html with the picture.
func (r *Report) Write(dir string, h *history.History) error {
	r.Passed = len(r.Problems) == 0 && r.Checked != nil && r.Checked.Passed()
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "verdict.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "timeline.html"))
	if err != nil {
		return err
	}
	if err := page(f, r, h); err != nil {
		f.Close()
		return fmt.Errorf("timeline: %w", err)
	}
	return f.Close()
}

const shownFindings = 10

// Print writes r for people.
func (r *Report) Print(w io.Writer) {
	word := "PASS"
	if !r.Passed {
		word = "FAIL"
	}
	f := &r.Figures
	fmt.Fprintf(w, "%s  %s  seed %d, %d nodes, %.0f s of work\n", word, r.Scenario, r.Seed, r.Nodes, r.Seconds)
	if r.Checked.Operations == 0 {
		r.printFindings(w)
		return
	}
	fmt.Fprintf(w, "      %d operations (%d writes, %d reads, %d tailed) in %d sessions, %d of them searched; %.0f "+
		"writes/s acknowledged\n",
		r.Checked.Operations, r.Counts.Writes, r.Counts.Reads, r.Counts.Tailed, r.Checked.Sessions, r.Checked.Searched,
		f.WritesPerSecond)
	fmt.Fprintf(w, "      faults %d, leader changes %d, unknown outcomes %d, duplicates %d, conflicts %d, refused "+
		"%d, expired %d, answers lost %d\n",
		f.Faults, f.LeaderChanges, r.Counts.Unknown, r.Counts.Duplicates, r.Counts.Conflicts, r.Counts.Refused,
		r.Counts.Expired, f.AnswersLost)
	for _, name := range slices.Sorted(maps.Keys(f.Sometimes)) {
		fmt.Fprintf(w, "      %s: %.0f\n", name, f.Sometimes[name])
	}
	fmt.Fprintf(w, "      write latency median %s, p99 %s, most %s; longest pause without an acknowledged write %s\n",
		ms(f.Write.Median), ms(f.Write.P99), ms(f.Write.Max), ms(f.LongestPause))
	if n := r.Counts.FinalRetries; n > 0 {
		fmt.Fprintf(w, "      unavailable although all faults had healed: %d reads had to be repeated; the machine "+
			"was stalled for up to %s\n", n, ms(int64(r.Stall)))
	}
	for _, name := range f.faultNames() {
		s := f.Recovery[name]
		fmt.Fprintf(w, "      %-18s %3d times; pause median %s, worst %s; from heal to first write median %s, "+
			"worst %s\n",
			name, s.Times, ms(s.PauseMedian), ms(s.PauseWorst), ms(s.HealMedian), ms(s.HealWorst))
	}
	r.printFindings(w)
}

func (r *Report) printFindings(w io.Writer) {
	for _, e := range r.Evidence {
		fmt.Fprintf(w, "  =   %s\n", e)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  !   %s\n", p)
	}
	printFindings(w, "violated", r.Checked.Violations)
	printFindings(w, "undecided", r.Checked.Undecided)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.R.Scenario}} – turnlog cluster test</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1120px;padding:0 1rem;color:#222;background:#fff}
svg{width:100%;font:11px system-ui,sans-serif} .small{font-size:9px;fill:#666}
.frame{fill:none;stroke:#ccc} .shade{fill:#d33;opacity:.07} .fault{fill:#c44;opacity:.75}
.leader{stroke:#27c;stroke-dasharray:3 3;opacity:.7} path{fill:none;stroke-width:1.3}
.writes{stroke:#083} .reads{stroke:#aab} .slowest{stroke:#e90}
pre{background:#f4f4f4;padding:.6rem;overflow:auto;white-space:pre-wrap} .pass{color:#083} .fail{color:#c00}
</style>
<h1>{{.R.Scenario}}: {{if .R.Passed}}<span class="pass">passed</span>{{else}}<span class="fail">failed</span>{{end}}
</h1>
<p>Green: acknowledged writes. Grey: reads. Orange: the slowest write. Red: faults. Dashed blue: a new leader.</p>
{{.Plot}}
<pre>{{.Text}}</pre>
<p>Once more:</p><pre>{{.R.Command}}</pre>
`))

func page(w io.Writer, r *Report, h *history.History) error {
	var text strings.Builder
	r.Print(&text)
	return pageTemplate.Execute(w, struct {
		R    *Report
		Plot template.HTML
		Text string
	}{r, draw(h), text.String()})
}

func printFindings(w io.Writer, word string, list []lincheck.Violation) {
	for i, v := range list {
		if i == shownFindings {
			fmt.Fprintf(w, "  !   and %d more\n", len(list)-i)
			return
		}
		if len(v.Ops) > 8 {
			v.Ops = v.Ops[:8]
		}
		fmt.Fprintf(w, "  !   %s: %s\n", word, v)
	}
}

func ms(ns int64) string {
	return time.Duration(ns).Round(100 * time.Microsecond).String()
}
