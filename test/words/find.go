package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// A finding is one use of a replaced word. Line 0 is the file's name.
type finding struct {
	file string
	line int
	word string
}

// inFile finds the replaced words in a file's name and text.
func inFile(name string, text []byte) []finding {
	found := inName(name, 0, path.Base(name))
	if path.Ext(name) == ".go" {
		return append(found, inGo(name, text)...)
	}
	return append(found, inText(name, 1, string(text))...)
}

// inGo looks at identifiers, strings and comments. Comments on lines that follow each other are one text,
// so that a phrase is found where a line ends in it.
func inGo(name string, text []byte) []finding {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(name, -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	var found []finding
	comment, first, last := "", 0, 0
	for {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		if comment != "" && (tok != token.COMMENT || line != last+1) {
			found = append(found, inText(name, first, comment)...)
			comment = ""
		}
		switch tok {
		case token.EOF:
			return found
		case token.IDENT:
			found = append(found, inName(name, line, lit)...)
		case token.STRING:
			if !strings.Contains(lit, "`") {
				lit = escapes.ReplaceAllString(lit, " ")
			}
			found = append(found, inText(name, line, lit)...)
		case token.COMMENT:
			if comment == "" {
				first = line
			} else {
				comment += "\n"
			}
			comment, last = comment+lit, line+strings.Count(lit, "\n")
		}
	}
}

// escapes are what would otherwise glue itself to a word in a string literal.
var escapes = regexp.MustCompile(`\\(x..|u....|.)`)

// inName looks at the parts of an identifier.
func inName(file string, line int, name string) []finding {
	var found []finding
	ps := parts(name)
	for _, part := range ps {
		w := lookUp(part)
		if w == "" || replaced[w].in == sentences || replaced[w].in == alone && len(ps) > 1 {
			continue
		}
		found = append(found, finding{file, line, w})
	}
	return found
}

var word = regexp.MustCompile(`[\pL\pN_]+`)

// inText looks at words and phrases, and at the parts of identifiers that the text mentions.
func inText(file string, line int, text string) []finding {
	var found []finding
	for i, l := range strings.Split(text, "\n") {
		for _, w := range word.FindAllString(l, -1) {
			ps := parts(w)
			if len(ps) > 1 {
				found = append(found, inName(file, line+i, w)...)
				continue
			}
			if w := lookUp(strings.ToLower(w)); w != "" &&
				(replaced[w].in == everywhere || replaced[w].in == sentences) {
				found = append(found, finding{file, line + i, w})
			}
		}
	}
	for phrase, pattern := range phrases {
		for _, at := range pattern.FindAllStringIndex(text, -1) {
			found = append(found, finding{file, line + strings.Count(text[:at[0]], "\n"), phrase})
		}
	}
	return found
}

// lookUp returns the entry that part is, or is the plural of, or "".
func lookUp(part string) string {
	for _, w := range []string{part, strings.TrimSuffix(part, "s")} {
		if _, ok := replaced[w]; ok {
			return w
		}
	}
	return ""
}

// parts splits an identifier into its words, in lower case: openHTTPDoor is open, http, door.
func parts(name string) []string {
	var out []string
	runes := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return out
}
