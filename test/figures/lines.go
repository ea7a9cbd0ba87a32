package main

import (
	"path"
	"strings"
	"unicode/utf8"
)

// Lines longer than this are too long.
const (
	goColumns       = 120
	markdownColumns = 140
)

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// tooLong counts the lines of a file that are too long for its kind.
func tooLong(f file) (n int) {
	limit := goColumns
	if path.Ext(f.name) == ".md" {
		limit = markdownColumns
	}
	for line := range strings.Lines(f.text) {
		if width(strings.TrimRight(line, "\r\n")) > limit {
			n++
		}
	}
	return n
}

// width is a line's width in columns.
func width(line string) int {
	w := utf8.RuneCountInString(line)
	for _, r := range line {
		if r != '\t' {
			break
		}
		w += 3
	}
	return w
}
