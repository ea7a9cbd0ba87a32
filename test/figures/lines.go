package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
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

// tooLong returns the numbers of the lines of a file that are too long for its kind. It passes over what
// cannot be broken: rows of Markdown's tables, and what Markdown's code blocks and Go's raw strings quote.
func tooLong(f file) (numbers []int) {
	if path.Ext(f.name) == ".md" {
		return longProse(f)
	}
	quoted := rawLines(f.text)
	number := 0
	for line := range strings.Lines(f.text) {
		number++
		if !quoted[number] && width(aligned.ReplaceAllString(trimmed(line), "$1 ")) > goColumns {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

func longProse(f file) (numbers []int) {
	code := false
	number := 0
	for line := range strings.Lines(f.text) {
		number++
		start := strings.TrimSpace(line)
		if strings.HasPrefix(start, "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(start, "|") && width(trimmed(line)) > markdownColumns {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// longRows counts the rows of Markdown's tables that are wider than other lines may be.
func longRows(f file) (n int) {
	for line := range strings.Lines(f.text) {
		if strings.HasPrefix(strings.TrimSpace(line), "|") && width(trimmed(line)) > markdownColumns {
			n++
		}
	}
	return n
}

func trimmed(line string) string { return strings.TrimRight(line, "\r\n") }

// aligned is a key of a composite literal with the blanks behind it, of which gofmt needs all but
// one to align the values with those of other lines.
var aligned = regexp.MustCompile(`^(\t*(?:"(?:[^"\\]|\\.)*"|[\w.]+):) {2,}`)

// rawLines returns the numbers of the lines of Go that have a part of a raw string.
func rawLines(text string) map[int]bool {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	lines := make(map[int]bool)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && strings.HasPrefix(literal, "`") {
			first := fset.Position(pos).Line
			for i := range strings.Count(literal, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
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
