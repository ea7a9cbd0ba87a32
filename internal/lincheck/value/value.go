// Package value is a model of Redis's types and of sessions, written to be obviously right: what a key holds, and what
// each command does to it and answers. Histories of real clusters are checked against it. Values are immutable; a
// command returns a new one.
package value

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Value is what a key holds: its elements, fields, members or entries in their order, or one
// string. It does not change. The zero Value is that of a key that does not exist.
type Value struct {
	items []item
	// top is the highest id that a stream has had; it may be without entries.
	top int64
}

type item struct {
	name  string // of a field or member
	text  string // of an element, field, entry or string
	score int64  // of a member; of an entry, its id
}

func texts(items []item) string {
	var parts []string
	for _, i := range items {
		parts = append(parts, bulk(i.text))
	}
	return array(parts)
}

// String is the same for equal values only.
func (v Value) String() string {
	var b strings.Builder
	fmt.Fprint(&b, v.top)
	for _, i := range v.items {
		fmt.Fprintf(&b, " %q=%q@%d", i.name, i.text, i.score)
	}
	return b.String()
}

// exists reports whether there is such a key: only streams stay when they are empty.
func (v Value) exists() bool { return len(v.items) > 0 || v.top > 0 }

// Answers, as Answer gives them.
const (
	none = "nil"
	done = "OK"
)

func number(n int) string         { return strconv.Itoa(n) }
func bulk(text string) string     { return strconv.Quote(text) }
func array(parts []string) string { return "[" + strings.Join(parts, " ") + "]" }
func failed(text string) string   { return "!" + text }

func del(v Value, _ []string) (Value, string) {
	if v.exists() {
		return Value{}, number(1)
	}
	return v, number(0)
}

func size(v Value, _ []string) (Value, string) { return v, number(len(v.items)) }

// find returns the place of a field or member, -1 if there is none.
func (v Value) find(name string) int {
	return slices.IndexFunc(v.items, func(i item) bool { return i.name == name })
}

// with returns v with an item, in the place of the one of that name, if there is one.
func (v Value) with(it item) Value {
	items := slices.DeleteFunc(slices.Clone(v.items), func(i item) bool { return i.name == it.name })
	items = append(items, it)
	slices.SortFunc(items, func(a,
		b item) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	return Value{items: items, top: v.top}
}

// remove is HDEL, SREM and ZREM.
func remove(v Value, names []string) (Value, string) {
	left := slices.DeleteFunc(slices.Clone(v.items), func(i item) bool { return slices.Contains(names, i.name) })
	return Value{items: left}, number(len(v.items) - len(left))
}

// integer reads an argument that the harness has written.
func integer(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
