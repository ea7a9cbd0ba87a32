package migrate

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestPageCommands(t *testing.T) {
	for _, c := range []struct {
		kind *kind
		at   string
		want string
	}{
		{listKind, "", "[lrange k 0 9]"},
		{listKind, "20", "[lrange k 20 29]"},
		{headListKind, "", "[lrange k -10 -1]"},
		{headListKind, "20", "[lrange k -30 -21]"},
		{setKind, "", "[sscan k 0 count 10]"},
		{hashKind, "77", "[hscan k 77 count 10]"},
		{streamKind, "", "[xrange k - + count 10]"},
		{streamKind, "5-1", "[xrange k 5-1 + count 10]"},
	} {
		if got := fmt.Sprint(c.kind.page("k", c.at, 10)); got != c.want {
			t.Errorf("%s at %q: %s, want %s", c.kind.name, c.at, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	list := func(parts ...any) []any { return parts }
	for _, c := range []struct {
		name  string
		kind  *kind
		reply any
		at    string
		count int
		page  []element
		next  string
	}{
		{"a list's last page", listKind, list("a", "b"), "3", 3, []element{{"a"}, {"b"}}, ""},
		{"a full page", listKind, list("a", "b"), "3", 2, []element{{"a"}, {"b"}}, "5"},
		{"from the right", headListKind, list("a", "b"), "3", 2, []element{{"b"}, {"a"}}, "5"},
		{"whole", listKind, list("a", "b"), "", 0, []element{{"a"}, {"b"}}, ""},
		{"a whole set of two", setKind, list("7", "b"), "", 0, []element{{"7"}, {"b"}}, ""},
		{"a step", setKind, list("7", list("a")), "", 10, []element{{"a"}}, "7"},
		{"the last step", hashKind, list("0", list("f", "v")), "7", 10, []element{{"f", "v"}}, ""},
		{"scores have one form", zsetKind, list("0", list("m", "0.10000000000000001", "n", "inf")), "7", 10,
			[]element{{"m", "0.1"}, {"n", "+inf"}}, ""},
		{"a field twice", streamKind, list(list("1-2", list("f", "a", "f", "b"))), "", 1,
			[]element{{"1-2", "f", "a", "f", "b"}}, "1-3"},
	} {
		page, next, err := c.kind.parse(c.reply, c.at, c.count)
		if err != nil || next != c.next || !reflect.DeepEqual(page, c.page) {
			t.Errorf("%s: %q, next %q, %v; want %q, next %q", c.name, page, next, err, c.page, c.next)
		}
	}
	for name, reply := range map[string]any{"no list": "x", "a pair is incomplete": list("0", list("f")),
		"a number": list("0", list("f", int64(3)))} {
		if _, _, err := hashKind.parse(reply, "", 10); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestIDAfter(t *testing.T) {
	for id, want := range map[string]string{"1-1": "1-2", "1-18446744073709551615": "2-0",
		"18446744073709551615-18446744073709551615": ""} {
		if got, err := idAfter(id); got != want || err != nil {
			t.Errorf("after %s: %q, %v", id, got, err)
		}
	}
	for _, id := range []string{"", "1", "a-1", "1-b"} {
		if _, err := idAfter(id); err == nil {
			t.Errorf("%q is an id", id)
		}
	}
}

func TestParts(t *testing.T) {
	page := []element{{"a"}, {string(make([]byte, 2*pageBytes))}, {"b"}, {"c"}, {string(make([]byte, pageBytes))}}
	var sizes []int
	for part := range parts(page) {
		sizes = append(sizes, len(part))
	}
	if !slices.Equal(sizes, []int{1, 1, 2, 1}) {
		t.Errorf("parts of %v elements", sizes)
	}
}

func TestDigest(t *testing.T) {
	l := newLedger()
	sum := func(k *kind, page ...element) uint64 { return l.digest(k).add(page...).sum }
	a, b, ab := element{"a"}, element{"b"}, element{"a", "b"}
	if sum(listKind, a, b) == sum(listKind, b, a) || sum(setKind, a, b) != sum(setKind, b, a) {
		t.Error("order counts in a list, not in a set")
	}
	if sum(listKind, a, b) == sum(listKind, ab) || sum(setKind, a) == sum(setKind, a, a) {
		t.Error("different values have one digest")
	}
}

func TestScoreForms(t *testing.T) {
	for _, f := range []float64{0.1, 1e300, -math.MaxFloat64, 3, math.Inf(-1)} {
		a, err1 := canonicalScore(fmt.Sprintf("%.17g", f))
		b, err2 := canonicalScore(fmt.Sprint(f))
		if a != b || err1 != nil || err2 != nil {
			t.Errorf("%v: %s and %s, %v, %v", f, a, b, err1, err2)
		}
	}
}
