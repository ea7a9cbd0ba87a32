package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// fixture writes files to a directory: a module "m", unless they have another go.mod.
func fixture(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	for name, text := range files {
		write(name, text)
	}
	return root
}

func loaded(t *testing.T, files map[string]string) *tree {
	t.Helper()
	tr, err := load(fixture(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]kind{
		"fsm/apply.go": product, "fsm/apply_test.go": tests, "contract/suite.go": judges, "contract": judges,
		"contract/internal/servers/a.go": judges, "internal/smallfile/copytest/a.go": judges, "cmd/turnlog": product,
		"cluster-test/a_test.go": tests, "client/turnlogtest": judges,
	} {
		if got := kindOf(name); got != want {
			t.Errorf("kindOf(%q) = %d, want %d", name, got, want)
		}
	}
}

// TestReferences: functions and methods count, once per file that uses them; types, fields and what
// is in the same file do not, nor do other packages.
func TestReferences(t *testing.T) {
	tr := loaded(t, map[string]string{
		"a.go": "package p\n\nimport \"m/q\"\n\ntype T struct{ n int }\n\n" +
			"func A(t T) { B(); B(); t.M(); a(); q.Q(); _ = t.n }\nfunc a() {}\n",
		"b.go": "package p\n\nfunc B() {}\nfunc (T) M() {}\nfunc G[V any](V) {}\n",
		"c.go": "package p\n\nfunc C() { _ = B; G(1); G(\"\") }\n",
		// Methods of an instance are those of the generic type.
		"d.go":   "package p\n\nfunc D(l L[int]) { l.M() }\nfunc E(l L[bool]) { l.M() }\n",
		"e.go":   "package p\n\ntype L[V any] struct{}\n\nfunc (L[V]) M() {}\n",
		"q/q.go": "package q\n\nfunc Q() {}\n",
	})
	i := slices.IndexFunc(tr.packages, func(p *packages.Package) bool { return p.PkgPath == "m" })
	g := references(tr.packages[i])
	want := [][]int{{0, 2, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 2, 0, 0, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}}
	if strings.Join(g.files, " ") != "a.go b.go c.go d.go e.go" || !slices.EqualFunc(g.edges, want, slices.Equal) {
		t.Errorf("%q refer to each other %v, want %v", g.files, g.edges, want)
	}
}

func TestRunBack(t *testing.T) {
	tests := map[string]struct {
		edges        [][]int
		back, cyclic int
	}{
		"a line":              {[][]int{{0, 3, 0}, {0, 0, 2}, {0, 0, 0}}, 0, 0},
		"a line, last first":  {[][]int{{0, 0, 0}, {2, 0, 0}, {0, 3, 0}}, 0, 0},
		"two files":           {[][]int{{0, 5}, {2, 0}}, 2, 2},
		"a ring":              {[][]int{{0, 4, 0}, {0, 0, 4}, {1, 0, 0}}, 1, 3},
		"a ring and its user": {[][]int{{0, 9, 9, 9}, {0, 0, 4, 0}, {0, 0, 0, 4}, {0, 1, 0, 0}}, 1, 3},
		"two rings":           {[][]int{{0, 5, 7, 0}, {2, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 6, 0}}, 3, 4},
		"no files":            {nil, 0, 0},
	}
	for name, test := range tests {
		g := graph{files: make([]string, len(test.edges)), edges: test.edges}
		if back, cyclic := g.runBack(); back != test.back || cyclic != test.cyclic {
			t.Errorf("%s: %d run back and %d are in cycles, want %d and %d", name, back, cyclic, test.back, test.cyclic)
		}
	}
}

// TestOrderIsGoodEnough: for small graphs the best order is known from all of them.
func TestOrderIsGoodEnough(t *testing.T) {
	seed := uint32(1)
	next := func() int {
		seed = seed*1664525 + 1013904223
		return max(0, int(seed>>24)%9-4)
	}
	found, possible := 0, 0
	for range 200 {
		g := graph{files: make([]string, 5), edges: make([][]int, 5)}
		for i := range g.edges {
			g.edges[i] = []int{next(), next(), next(), next(), next()}
			g.edges[i][i] = 0
		}
		back, _ := g.runBack()
		best := g.least([]int{0, 1, 2, 3, 4}, 0)
		if back < best {
			t.Fatalf("%d run back, fewer than possible: %d, in %v", back, best, g.edges)
		}
		found, possible = found+back, possible+best
	}
	if found*100 > possible*102 {
		t.Errorf("%d run back in all, with the best orders %d", found, possible)
	}
}

// least tries all orders of the files from k on.
func (g graph) least(order []int, k int) int {
	if k == len(order) {
		return g.against(order)
	}
	least := 1 << 30
	for i := k; i < len(order); i++ {
		order[k], order[i] = order[i], order[k]
		least = min(least, g.least(order, k+1))
		order[k], order[i] = order[i], order[k]
	}
	return least
}

func TestImportsThatRunBack(t *testing.T) {
	tr := loaded(t, map[string]string{
		"resp/a.go":          "package resp\n\nimport _ \"m/fsm\"\n",
		"fsm/a.go":           "package fsm\n\nimport _ \"m/fsm/blockfile\"\n",
		"fsm/blockfile/a.go": "package blockfile\n\nimport _ \"m/wal\"\n",
		"wal/a.go":           "package wal\n\nimport (\n_ \"m/peer\"\n_ \"m/new\"\n)\n",
		"peer/a.go":          "package peer\n\nimport _ \"strings\"\n",
		"new/a.go":           "package new\n\nimport _ \"m/peer\"\n",
	})
	got := slices.Sorted(slices.Values(tr.importsBack()))
	if want := []string{"resp → fsm", "wal → peer"}; !slices.Equal(got, want) {
		t.Errorf("these run back: %q, want %q", got, want)
	}
	if got := tr.unplaced(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("these are in no layer: %q", got)
	}
}

// TestNoImportRunsBack: not in this repository.
func TestNoImportRunsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the whole tree")
	}
	tr, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if dirs := tr.unplaced(); len(dirs) > 0 {
		t.Errorf("layers.go does not have them: %q", dirs)
	}
	if back := tr.importsBack(); len(back) > 0 {
		t.Errorf("imports run back, against layers.go and the map in ARCHITECTURE.md: %q", back)
	}
}

func TestShape(t *testing.T) {
	tr := loaded(t, map[string]string{
		"a.go": "package p\n\ntype Wide struct {\n\tA, b int\n\terror\n}\n\n" +
			"func (Wide) M() {\n}\n\nfunc (w *Wide) n() {}\n\ntype Other = Wide\n\n" +
			"const C = 1\n\nvar v int\n\nfunc F() {\n\t// one\n\t// two\n}\n",
		"a_test.go":       "package p\n\nfunc LongerThanAll() {\n\n\n\n\n\n\n}\n",
		"internal/x/x.go": "package x\n\nfunc X() {}\n",
	})
	p := tr.packages[slices.IndexFunc(tr.packages, func(p *packages.Package) bool { return p.PkgPath == "m" })]
	for what, got := range map[string][]sized{
		"functions": largest(functions("m", p), 2), "structs": structs("m", p), "methods": methods("m", p),
	} {
		want := map[string][]sized{
			"functions": {{"m.F", 4}, {"m.(Wide).M", 2}}, "structs": {{"m.Wide", 3}}, "methods": {{"m.Wide", 2}},
		}[what]
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if got := exported(p); got != 5 { // Wide, M, Other, C, F
		t.Errorf("%d names are exported, want 5", got)
	}
	if !public("m", p) || public("internal/x", p) || public("fsm/internal/x", p) {
		t.Error("what other modules can import is mistaken")
	}
}

func TestPercentile(t *testing.T) {
	var list []sized
	for i := range 200 {
		list = append(list, sized{"", 200 - i})
	}
	for p, want := range map[int]int{50: 100, 90: 180, 99: 198, 100: 200} {
		if got := percentile(list, p); got != want {
			t.Errorf("percentile %d is %d, want %d", p, got, want)
		}
	}
	if percentile(nil, 50) != 0 {
		t.Error("a percentile of nothing is not 0")
	}
}

func TestLongLines(t *testing.T) {
	x := func(n int) string { return strings.Repeat("…", n) }
	for name, test := range map[string]struct {
		file file
		want int
	}{
		"fits":           {file{"a.go", x(120) + "\r\n\t" + x(116) + "\n"}, 0},
		"a column more":  {file{"a.go", x(121) + "\n\t" + x(117)}, 2},
		"Markdown":       {file{"a.md", x(140) + "\n" + x(141) + "\n"}, 1},
		"tabs are inner": {file{"a.go", "a" + strings.Repeat("\t", 119)}, 0},
		"a table's row":  {file{"a.md", "| " + x(140) + " |\n" + x(141)}, 1},
		"code":           {file{"a.md", "```sh\n" + x(141) + "\n```\n" + x(141)}, 1},
		"raw strings":    {file{"a.go", "x = `\n" + x(121) + "`\n" + "`" + x(120) + "`\n" + x(121)}, 1},
		"quotes":         {file{"a.go", "\"`\"\n" + x(121) + "\n// `" + x(121) + "\n"}, 2},
		"aligned":        {file{"a.go", "\t\"a:\":          " + x(108) + "\n\t\"a:\": " + x(111)}, 1},
	} {
		if got := len(tooLong(test.file)); got != test.want {
			t.Errorf("%s: %d lines are too long, want %d", name, got, test.want)
		}
	}
	if got := longRows(file{"a.md", "| " + x(140) + "\n" + x(141) + "\n | " + x(137) + "\n"}); got != 1 {
		t.Errorf("%d rows are too long, want 1", got)
	}
}

// TestPage: trees side by side, with rows that only one of them has.
func TestPage(t *testing.T) {
	text := page([]report{
		{"old", []section{{"Things", []row{{"a", "1"}, {"gone", "2"}}}}},
		{"new", []section{{"Things", []row{{"a", "3"}, {"more", "x"}, {"more", "y"}}}}},
	})
	const want = "\n## Things\n\n| | old | new |\n|---|---|---|\n| a | 1 | 3 |\n| gone | 2 |  |\n| more |  | x, y |\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("page ends\n%s\nwant\n%s", text, want)
	}
}

const replacedWord = "do" + "or" // in two parts, or make lint finds it here

// TestMeasureDirectory runs it all, with the words of test/words.
func TestMeasureDirectory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds test/words")
	}
	r, err := measureTree(fixture(t, map[string]string{
		"new/a.go":      "package p\n\n// A " + replacedWord + ".\nfunc A() { B() }\n",
		"new/b.go":      "package p\n\nfunc B() { A() }\n",
		"testdata/t.go": "package broken",
		"README.md":     "one\ntwo\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range r.sections {
		for _, row := range s.rows {
			got[s.name+": "+row.name] = row.value
		}
	}
	for name, want := range map[string]string{
		"Lines: product":    "7",
		"Lines: tests":      "0",
		"Lines: Markdown":   "2",
		"Packages: product": "1",
		"Packages: 1":       "new 2",
		"Files that refer to each other: references that run back": "1",
		"Files that refer to each other: files in cycles":          "2",
		"Imports that run back: in no layer":                       "new",
		"Functions: functions":                                     "2",
		"Exported names: 1":                                        "new 2",
		"Replaced words: all":                                      "1",
		"Replaced words: 1":                                        replacedWord + " 1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := measureTree("no-such-commit")
	if err == nil || !strings.Contains(err.Error(), "neither a directory nor a commit") {
		t.Error(err)
	}
	if _, err := load(fixture(t, map[string]string{"a.go": "package p\n\nfunc A() { gone() }\n"})); err == nil {
		t.Error("a tree that does not compile was measured")
	}
}

// TestPrintBack: what runs back is named, in the order that counts it.
func TestPrintBack(t *testing.T) {
	tr := loaded(t, map[string]string{
		"a.go": "package p\n\ntype T struct{}\n\nfunc A(t T) { B(); B2() }\nfunc (*T) M() {}\n",
		"b.go": "package p\n\nfunc B() { (&T{}).M() }\nfunc B2() {}\n",
		"c.go": "package p\n\nfunc C() { A(T{}) }\n",
	})
	var out strings.Builder
	if back := printBack(&out, tr); back != 1 {
		t.Errorf("%d references run back", back)
	}
	want := ".: 2 of 3 files, 1 references run back\n  a.go\n  b.go\n      uses of a.go: (*T).M\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestCheck: lines that are too long are named and counted, besides references that run back.
func TestCheck(t *testing.T) {
	tr := loaded(t, map[string]string{
		"a.go": "package p\n\n// A" + strings.Repeat("a", goColumns) + "\nfunc A() {}\n",
		"b.md": "short\n" + strings.Repeat("b", markdownColumns+1) + "\n",
	})
	var out strings.Builder
	n := check(&out, tr)
	want := "a.go:3: the line is too long\nb.md:2: the line is too long\n"
	if got := out.String(); n != 2 || got != want {
		t.Errorf("%d found:\n%s\nwant:\n%s", n, got, want)
	}
}
