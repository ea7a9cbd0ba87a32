package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// page has the results and the handshakes, between markers.
const page = "docs/compat.md"

// result is what became of a library in one mode.
type result struct {
	verdict
	subject    library
	mode       mode
	versions   string
	p99, worst float64 // seconds, of the calls that append
	errors     map[string]int
}

func newResult(d *driver, m mode) result {
	r := result{verdict: d.record.judge(), subject: d.subject, mode: m, errors: d.record.errors}
	for _, name := range slices.Sorted(maps.Keys(d.record.versions)) {
		r.versions += fmt.Sprintf(", %s %s", name, d.record.versions[name])
	}
	r.versions = strings.TrimPrefix(r.versions, ", ")
	slices.Sort(d.record.took)
	if n := len(d.record.took); n > 0 {
		r.p99, r.worst = d.record.took[int(math.Ceil(0.99*float64(n)))-1], d.record.took[n-1]
	}
	return r
}

// problems are what must not be.
func (r result) problems() (all []string) {
	for what, n := range map[string]int{"acknowledged messages lost": r.lost,
		"reads that missed acknowledged messages": r.stale,
		"messages out of order":                   r.reordered, "foreign messages": r.foreign,
		"conversations that could not be read": r.unread} {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	if r.doubled > 0 && (r.subject.resends == "" || r.subject.ids) {
		all = append(all, fmt.Sprintf("%d messages doubled, though no client resends or ids tell", r.doubled))
	}
	// If the client resends, the refusal is of another attempt than the one that was stored.
	if r.dishonest > 0 && r.subject.resends == "" {
		all = append(all, fmt.Sprintf("%d messages stored that were reported as surely not stored", r.dishonest))
	}
	if r.acked == 0 {
		all = append(all, "nothing was acknowledged")
	}
	slices.Sort(all)
	if len(all) > 0 {
		all = append(all, r.examples...)
	}
	return all
}

// table shows results as Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| library | versions | messages | acknowledged | errors | lost | out of order | doubled | failed, " +
		"yet stored | p99 | worst | resends by itself |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		resends := r.subject.resends
		if resends == "" {
			resends = "no"
		}
		if r.subject.ids {
			resends += ", with ids"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %.0f ms | %.1f s | %s |\n", r.subject.name,
			r.versions,
			r.attempted, r.acked, r.attempted-r.acked, r.lost+r.stale, r.reordered+r.foreign, r.doubled, r.appeared,
			1000*r.p99, r.worst, resends)
	}
	return b.String()
}

// errorsSeen lists what applications were told, the most frequent first.
func errorsSeen(results []result) string {
	var b strings.Builder
	for _, r := range results {
		texts := slices.SortedFunc(maps.Keys(r.errors), func(a, b string) int { return r.errors[b] - r.errors[a] })
		for i, text := range texts {
			if i == 3 {
				fmt.Fprintf(&b, "- %s: and %d other texts\n", r.subject.name, len(texts)-i)
				break
			}
			fmt.Fprintf(&b, "- %s: %d × `%s`\n", r.subject.name, r.errors[text], shorten(text))
		}
	}
	return b.String()
}

func shorten(text string) string {
	text = strings.NewReplacer("\n", " ", "`", "'").Replace(text)
	if len(text) > 120 {
		return text[:120] + "…"
	}
	return text
}

// section returns the page, and what is between the markers of a name in it.
func section(name string) (before, content, after string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", "", "", err
	}
	begin, end := fmt.Sprintf("<!-- %s: written by compat -->\n", name), fmt.Sprintf("<!-- end of %s -->", name)
	before, rest, ok := strings.Cut(string(text), begin)
	content, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("%s has no section %q", page, name)
	}
	return before + begin, content, end + after, nil
}

// rewrite replaces what is there.
func rewrite(name, content string) error {
	before, _, after, err := section(name)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+"\n"+strings.TrimSpace(content)+"\n\n"+after), 0o644)
}
