package main

import (
	"fmt"
	"path"
	"strconv"

	"golang.org/x/tools/go/packages"
)

// ranked is how many entries a ranking has.
const ranked = 10

// A report has the figures of one tree.
type report struct {
	title    string
	sections []section
}

type section struct {
	name string
	rows []row
}

// A row is one figure, or one place of a ranking.
type row struct {
	name, value string
}

func measure(title string, t *tree, words []sized) report {
	return report{title: title, sections: []section{
		{"Lines", t.lines()},
		{"Packages", t.packagesSection()},
		{"Files that refer to each other", t.order()},
		{"Imports that run back", t.imports()},
		{"Functions", t.functionLengths()},
		{"Structs with the most fields", t.ranking(structs)},
		{"Types with the most methods", t.ranking(methods)},
		{"Exported names", t.exportedNames()},
		{"Replaced words", withTotal("all", words)},
	}}
}

func (t *tree) lines() []row {
	var sum [3]int
	var markdown, longGo, longMarkdown, rows int
	for _, f := range t.files {
		if path.Ext(f.name) == ".md" {
			markdown += lineCount(f.text)
			longMarkdown += len(tooLong(f))
			rows += longRows(f)
			continue
		}
		sum[kindOf(f.name)] += lineCount(f.text)
		longGo += len(tooLong(f))
	}
	return []row{
		number("product", sum[product]), number("tests", sum[tests]), number("judges", sum[judges]),
		number("Markdown", markdown),
		number(fmt.Sprintf("Go, wider than %d columns", goColumns), longGo),
		number(fmt.Sprintf("Markdown, wider than %d columns", markdownColumns), longMarkdown),
		number("of tables in Markdown, as wide", rows),
	}
}

func (t *tree) packagesSection() []row {
	files := map[string]int{}
	for _, f := range t.files {
		if path.Ext(f.name) == ".go" && kindOf(f.name) != tests {
			files[path.Dir(f.name)]++
		}
	}
	var list []sized
	var count [3]int
	for _, p := range t.packages {
		dir := t.dir(p.PkgPath)
		count[kindOf(dir)]++
		list = append(list, sized{dir, files[dir]})
	}
	rows := []row{
		number("product", count[product]), number("judges", count[judges]),
		number("files in a package, median", percentile(list, 50)),
		number("files in a package, 90th percentile", percentile(list, 90)),
	}
	return append(rows, ranks(list)...)
}

func (t *tree) order() []row {
	var all, back, cyclic int
	var list []sized
	for _, p := range t.packages {
		g := references(p)
		b, c := g.runBack()
		all, back, cyclic = all+g.sum(), back+b, cyclic+c
		if b > 0 {
			list = append(list, sized{t.dir(p.PkgPath), b})
		}
	}
	rows := []row{number("references", all), number("references that run back", back),
		number("files in cycles", cyclic)}
	return append(rows, ranks(list)...)
}

func (t *tree) imports() []row {
	back := t.importsBack()
	rows := []row{number("imports", len(back))}
	for i, s := range back {
		rows = append(rows, row{strconv.Itoa(i + 1), s})
	}
	for _, dir := range t.unplaced() {
		rows = append(rows, row{"in no layer", dir})
	}
	return rows
}

func (t *tree) functionLengths() []row {
	var list []sized
	for _, p := range t.packages {
		list = append(list, functions(t.dir(p.PkgPath), p)...)
	}
	rows := []row{number("functions", len(list))}
	for _, p := range []int{50, 90, 99} {
		rows = append(rows, number(fmt.Sprintf("lines, %dth percentile", p), percentile(list, p)))
	}
	return append(rows, ranks(list)...)
}

func (t *tree) exportedNames() []row {
	var list []sized
	for _, p := range t.packages {
		if dir := t.dir(p.PkgPath); public(dir, p) {
			list = append(list, sized{dir, exported(p)})
		}
	}
	return withTotal("all public packages", list)
}

func (t *tree) ranking(of func(dir string, p *packages.Package) []sized) []row {
	var list []sized
	for _, p := range t.packages {
		list = append(list, of(t.dir(p.PkgPath), p)...)
	}
	return ranks(list)
}

func withTotal(name string, list []sized) []row {
	sum := 0
	for _, s := range list {
		sum += s.size
	}
	return append([]row{number(name, sum)}, ranks(list)...)
}

func number(name string, n int) row { return row{name, strconv.Itoa(n)} }

func ranks(list []sized) (rows []row) {
	for i, s := range largest(list, ranked) {
		rows = append(rows, row{strconv.Itoa(i + 1), fmt.Sprintf("%s %d", s.name, s.size)})
	}
	return rows
}
