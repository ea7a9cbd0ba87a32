package mutation

import (
	"strings"
	"testing"
)

const sample = `package p

// holds is true; return true
func (n *Node[T]) holds() bool {
	if n == nil { // never
		return true
	}
	return  true
}

func holds() string {
	x := 1; return "if n == nil"
}
`

func TestFind(t *testing.T) {
	s, err := newSource("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, in, changed string // into X; empty: it is not found once
	}{
		{old: "if n == nil {\n\t\t\treturn true", changed: "bool {\n\tX\n\t}"},
		{old: "if n==nil", changed: "\tX { // never"},
		{old: "return true"},
		{old: "return true }", changed: ""},
		{old: "} return true", changed: "true\n\tX\n}"},
		{old: "return", in: "holds", changed: `x := 1; X "if`},
		{old: "n == nil", in: "(*Node).holds", changed: "if X {"},
		{old: "n == nil", in: "Node.holds"},
		{old: "turn true"},
		{old: ""},
	} {
		old, err := tokens([]byte(c.old))
		if err != nil {
			t.Fatalf("%q: %v", c.old, err)
		}
		found := s.find(old, c.in)
		if len(found) != 1 || c.changed == "" {
			if len(found) == 1 || c.changed != "" {
				t.Errorf("%q in %q: found at %v", c.old, c.in, found)
			}
			continue
		}
		text, err := s.changed([]change{{found[0], "X"}})
		if err != nil || !strings.Contains(text, c.changed) {
			t.Errorf("%q in %q: %v\n%s", c.old, c.in, err, text)
		}
		if _, err := s.changed([]change{{found[0], "X"}, {found[0], "Y"}}); err == nil {
			t.Errorf("%q: changed twice", c.old)
		}
	}
	if _, err := tokens([]byte(`return "if`)); err == nil {
		t.Error("half a string is no token, and was taken")
	}
}

func TestTestNames(t *testing.T) {
	c := Code{tests: map[string][]test{"TestA": {{"TestA", "p", "x"}, {"TestA", "q", "y/q"}},
		"TestB": {{"TestB", "p", "x"}}}}
	for name, folder := range map[string]string{"TestB": "x", "p.TestB": "x", "q.TestA": "y/q", "TestA": "",
		"q.TestB": "", "TestC": ""} {
		if got, err := c.test(name); got.folder != folder || (err == nil) != (folder != "") {
			t.Errorf("%s is in %q; %v", name, got.folder, err)
		}
	}
}
