package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// definitions come before the figures.
//
//go:embed definitions.md
var definitions string

// page renders reports side by side, as Markdown.
func page(reports []report) string {
	var b strings.Builder
	b.WriteString("# Figures\n\nThe shape of the code, by `make figures`")
	if len(reports) > 1 {
		fmt.Fprintf(&b, " with `BASE=%s`", reports[0].title)
	}
	b.WriteString(".\n\n")
	fmt.Fprintf(&b, definitions, strings.Join(judging, ", "))
	for i, s := range reports[len(reports)-1].sections {
		fmt.Fprintf(&b, "\n## %s\n\n| |", s.name)
		for _, r := range reports {
			fmt.Fprintf(&b, " %s |", r.title)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(reports)) + "\n")
		for _, name := range rowNames(reports, i) {
			fmt.Fprintf(&b, "| %s |", name)
			for _, r := range reports {
				fmt.Fprintf(&b, " %s |", value(r.sections[i].rows, name))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// rowNames are the names of a section's rows in any of the reports, in order.
func rowNames(reports []report, section int) (names []string) {
	for _, r := range reports {
		for _, row := range r.sections[section].rows {
			if !slices.Contains(names, row.name) {
				names = append(names, row.name)
			}
		}
	}
	return names
}

// value joins the values of the rows of that name.
func value(rows []row, name string) string {
	var values []string
	for _, r := range rows {
		if r.name == name {
			values = append(values, r.value)
		}
	}
	return strings.Join(values, ", ")
}
