package mutation

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// source is a Go file, in which texts are found whatever white space and comments are
// between their words.
type source struct {
	path   string
	text   []byte
	words  wording
	blocks []block // its functions, parsed when they are first wanted
}

// wording is a text as its tokens alone.
type wording struct {
	joined string
	starts []int  // of each token, in joined
	spans  []span // of each token, in the text
}

// span is a part of a text.
type span struct{ from, to int }

// block is a function of a file.
type block struct {
	name string // such as "run", "(*Node).Start" or "Config.check"
	span
}

// change is a part of a file with what replaces it.
type change struct {
	span
	text string
}

func newSource(path string, text []byte) (*source, error) {
	words, err := tokens(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &source{path: path, text: text, words: words}, nil
}

// tokens returns the tokens of a text, which may be a part of a file.
func tokens(text []byte) (w wording, err error) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	var joined strings.Builder
	s.Init(file, text, func(at token.Position,
		message string) {
		err = errors.Join(err, fmt.Errorf("%v: %s", at, message))
	}, 0)
	const separator = "\x00"
	joined.WriteString(separator)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			w.joined = joined.String()
			return w, err
		}
		if kind == token.SEMICOLON && literal == "\n" { // the end of a line
			continue
		}
		if !kind.IsLiteral() {
			literal = kind.String()
		}
		from := file.Offset(pos)
		w.starts = append(w.starts, joined.Len())
		w.spans = append(w.spans, span{from, from + len(literal)})
		joined.WriteString(literal + separator)
	}
}

// find returns where the wording occurs in the file, or in the function of that name.
func (s *source) find(w wording, in string) (found []span) {
	for at := 0; len(w.spans) > 0; {
		i := strings.Index(s.words.joined[at:], w.joined)
		if i < 0 {
			break
		}
		at += i + 1
		first, _ := slices.BinarySearch(s.words.starts, at)
		one := span{s.words.spans[first].from, s.words.spans[first+len(w.spans)-1].to}
		if in == "" || s.inside(one, in) {
			found = append(found, one)
		}
	}
	return found
}

// inside reports whether the span is in a function of that name.
func (s *source) inside(one span, name string) bool {
	if s.blocks == nil {
		s.blocks = blocks(s.path, s.text)
	}
	return slices.ContainsFunc(s.blocks,
		func(b block) bool { return b.name == name && b.from <= one.from && one.to <= b.to })
}

// blocks returns the functions of a file; of one that cannot be parsed, none.
func blocks(path string, text []byte) []block {
	found := []block{}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return found
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			found = append(found, block{functionName(f),
				span{set.Position(f.Pos()).Offset, set.Position(f.End()).Offset}})
		}
	}
	return found
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, pointer := f.Recv.List[0].Type, false
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver, pointer = t.X, true
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			if pointer {
				return "(*" + t.Name + ")." + f.Name.Name
			}
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

// changed returns the file's text with the changes, which must not overlap.
func (s *source) changed(changes []change) (string, error) {
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	var text strings.Builder
	at := 0
	for _, c := range changes {
		if c.from < at {
			return "", fmt.Errorf("%s: two edits of one text", s.path)
		}
		text.Write(s.text[at:c.from])
		text.WriteString(c.text)
		at = c.to
	}
	text.Write(s.text[at:])
	return text.String(), nil
}
